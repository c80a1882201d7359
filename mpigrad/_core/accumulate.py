"""Adding gradients up: into `.grad` of leaves, taking over buffers that nobody else holds."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .._array.device import guard
from .._graph.namespace import RAW
from .._graph.tracing import unwatched
from .._graph.untraced import untraced
from .._graph.waiting import waits
from .._tensor import Tensor, counter
from .wrapping import wrap

ndarray = np.ndarray
_lock = threading.RLock()  # several backward passes may meet at one leaf


def add_to_grad(leaf: Tensor, grad: Any, F: Any) -> None:
    """Add `grad` (an array when F is RAW, else a tensor) to `leaf.grad`. Only for AccumulateGrad inside the engine,
    where the holders of `grad` are counted."""
    with _lock:
        held = leaf._grad
        if F is not RAW:
            leaf._grad = grad.clone() if held is None else sum_of_tensors(held, grad)
        elif held is None:
            leaf._grad = wrap(leaf_owner.keep(grad))
        else:
            held._array = _sum_into(held._array, grad)
            counter(held)[0] += 1


def sum_of_tensors(held: Any, grad: Any) -> Any:
    """Two gradients added up; a dense tensor comes first, since the sum with a sparse one is written in that order."""
    if type(held) is Tensor and held.is_sparse and not grad.is_sparse:
        return grad + held
    return held + grad


def _sum_into(held: Any, grad: Any) -> Any:
    if type(held) is not ndarray or type(grad) is not ndarray:
        if _either_sparse(held, grad):
            return held + grad
        if waits(held, grad):
            return held
    held += grad
    return held


def _either_sparse(held: Any, grad: Any) -> bool:
    return getattr(held, "is_sparse_array", False) or getattr(grad, "is_sparse_array", False)


def _copied(grad: Any) -> Any:
    if type(grad) is ndarray:
        return grad.copy()
    with guard(grad):
        return grad.copy()


class Ownership:
    """Tells whether the engine alone holds an array when it reaches one place in the code.

    CPython counts references exactly, but how many frames of ours hold an array there is an implementation detail, so
    the count is measured once, with an array that is known to have no other holder, instead of being assumed. Whoever
    looks into frames at that moment (debuggers, samplers) would be taken for one of ours: see `_measure`.
    """

    def __init__(self, rehearse: Callable[[], None] | None = None) -> None:
        self.rehearse: Any = rehearse  # sends one array of its own through the same place
        self._sole: int | None = None
        self._measured = _SHARED  # the least of all measurements
        self._measuring: int | None = None  # the thread that does it

    def alone(self, grad: Any) -> bool:
        """Whether nobody else refers to an array (which may be a view of memory that others see)."""
        count = sys.getrefcount(grad)
        if self._sole is None:
            if self._measuring == threading.get_ident():
                self._measured = min(self._measured, count)
                return True
            self._measure()
        assert self._sole is not None
        return count <= self._sole

    def keep(self, grad: Any) -> Any:
        """`grad` itself if no one else can see its memory, else a copy."""
        if type(grad) is ndarray and type(grad.base) is bytearray:
            return grad.copy()  # a small one from another worker, in the middle of its message
        if self.alone(grad):
            if getattr(grad, "is_sparse_array", False):
                return type(grad)(_unshared(grad, "indices"), _unshared(grad, "values"), grad.shape, grad.is_coalesced)
            if owns_memory(grad):
                return grad
        return np.asarray(grad) if isinstance(grad, np.generic) else _copied(grad)

    def _measure(self) -> None:
        with _measuring:
            if self._sole is None:
                self._measuring = threading.get_ident()
                try:
                    with unwatched(), untraced():  # watchers would hold the array too
                        for _ in range(_TIMES):
                            self.rehearse()
                    self._sole = self._measured
                finally:
                    self._measuring = None


_measuring = threading.RLock()
_SHARED = sys.maxsize
_TIMES = 3  # measurements: another thread may look into our frames during one of them


def owns_memory(grad: Any) -> bool:
    """Whether an array that nobody else refers to has its memory for itself."""
    if isinstance(grad, np.ndarray):
        flags = grad.flags
        if grad.base is None:
            return flags.owndata and flags.writeable and flags.forc
        return flags.writeable and flags.forc and _most_holders(grad) <= _SOLE_BASE
    return not isinstance(grad, np.generic) and getattr(grad, "base", None) is None


def least(measure: Callable[[], Any]) -> Any:
    """The least of some undisturbed measurements."""
    with untraced():
        return min(measure() for _ in range(_TIMES))


def _most_holders(array: Any) -> int:
    """The most references that anything has of which an array is a view. Memory that RPC received into counts like an
    array, since it says so (`lends_memory`); of anything else it is not known who uses it."""
    most, base = 0, array.base
    while base is not None:
        if type(base) is not ndarray and not getattr(base, "lends_memory", False):
            return _SHARED
        most = max(most, sys.getrefcount(base))
        base = getattr(base, "base", None)
    return most


# what it is for a view that alone holds its base, on this Python
_SOLE_BASE = least(lambda: _most_holders(np.empty(2).reshape(1, 2)))


def _holders(owner: Any, name: str) -> int:
    array = getattr(owner, name)
    return sys.getrefcount(array)


class _Sole:
    """An object that alone holds an array: what `_holders` counts then, on this Python."""

    def __init__(self) -> None:
        self.array = np.empty(2)


_SOLE_PART = least(lambda: _holders(_Sole(), "array"))


def _unshared(sparse: Any, name: str) -> Any:
    """The indices or values of a sparse gradient; a copy if their memory has other holders."""
    alone = _holders(sparse, name) <= _SOLE_PART
    array = getattr(sparse, name)
    if type(array) is not ndarray:
        return array if alone and array.base is None else array.copy()
    return array if alone and array.flags.writeable and _most_holders(array) <= _SOLE_BASE else array.copy()


def _holders_of_saved(saved: tuple[Any, ...], place: int) -> tuple[int, int]:
    tensor = saved[place]
    array = tensor._array
    return sys.getrefcount(tensor), sys.getrefcount(array)


# what it is when a node alone holds a tensor
_SOLE_SAVED = least(lambda: _holders_of_saved((wrap(np.empty(2)), wrap(np.empty(2))), 0))


def is_spare(saved: tuple[Any, ...], place: int) -> bool:
    """Whether a dense tensor that a node saved, and its memory, have no other holder: the node may write over it.

    Nobody else may hold `saved` itself, to which the caller must see. Weak references count, since
    another thread may follow them any time.
    """
    tensor, array = _holders_of_saved(saved, place)
    if tensor > _SOLE_SAVED[0] or array > _SOLE_SAVED[1]:
        return False
    return not _weakly_held(saved[place]) and owns_memory(saved[place]._array)


def _weakly_held(tensor: Tensor) -> bool:
    held: Any = tensor
    array: Any = tensor._array
    while not weakref.getweakrefcount(held):
        if array is None:
            return False
        held, array = array, getattr(array, "base", None)
    return True


leaf_owner: Ownership = Ownership()  # of gradients that reach leaves; the engine, which brings them there, sets its `rehearse`
