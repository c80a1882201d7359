"""Adding gradients up: into `.grad` of leaves, taking over buffers that nobody else holds.

Who holds a buffer is counted in C (`objects`), where the engine's own references are known. In plain Python nobody is known to be
alone, and gradients are copied.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from .._array.device import guard
from .._graph.namespace import RAW
from .._graph.waiting import waits
from .._tensor import Tensor, counter
from .objects import sole, sole_bases, sole_item, sole_part
from .tensor import wrap

ndarray = np.ndarray
_lock = threading.RLock()  # several backward passes may meet at one leaf


def add_to_grad(leaf: Tensor, grad: Any, F: Any, owned: bool) -> None:
    """Add `grad` (an array when F is RAW, else a tensor) to `leaf.grad`. `owned`: nobody else holds `grad`."""
    with _lock:
        held = leaf._grad
        if F is not RAW:
            leaf._grad = grad.clone() if held is None else sum_of_tensors(held, grad)
        elif held is None:
            leaf._grad = wrap(keep(grad, owned))
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


def keep(grad: Any, owned: bool) -> Any:
    """`grad` itself if no one else can see its memory, else a copy. `owned`: nobody else holds `grad`."""
    if type(grad) is ndarray and type(grad.base) is bytearray:
        return grad.copy()  # a small one from another worker, in the middle of its message
    if owned:
        if getattr(grad, "is_sparse_array", False):
            return type(grad)(_unshared(grad, "indices"), _unshared(grad, "values"), grad.shape, grad.is_coalesced)
        if owns_memory(grad):
            return grad
    return np.asarray(grad) if isinstance(grad, np.generic) else _copied(grad)


def owns_memory(grad: Any) -> bool:
    """Whether an array that nobody else refers to has its memory for itself."""
    if isinstance(grad, np.ndarray):
        flags = grad.flags
        if grad.base is None:
            return flags.owndata and flags.writeable and flags.forc
        return flags.writeable and flags.forc and sole_bases(grad)
    return not isinstance(grad, np.generic) and getattr(grad, "base", None) is None


def _unshared(sparse: Any, name: str) -> Any:
    """The indices or values of a sparse gradient; a copy if their memory has other holders."""
    alone = sole_part(sparse, name)
    array = getattr(sparse, name)
    if type(array) is not ndarray:
        return array if alone and array.base is None else array.copy()
    return array if alone and array.flags.writeable and sole_bases(array) else array.copy()


def take_saved(node: Any) -> list[tuple[Any, bool]]:
    """The arrays of the tensors that a node saved, which it lets go, each with whether it has no other holder and may be
    written over. None for what was not saved."""
    saved = node.saved
    node.saved = None  # before anything is written over: whoever else runs this node must find nothing
    shared = not sole(saved)  # another thread is running it
    found = []
    for place in range(len(saved)):
        if saved[place] is None:
            found.append((None, False))
        else:
            spare = not shared and _is_spare(saved, place)
            found.append((saved[place]._array, spare))
    return found


def _is_spare(saved: tuple[Any, ...], place: int) -> bool:
    """Whether a dense tensor in a tuple that nobody else holds, and its memory, have no other holder. Weak references
    count, since another thread may follow them any time."""
    if not sole_item(saved, place) or saved[place].__class__ is not Tensor or not sole_part(saved[place], "_array"):
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
