"""Adding gradients up: into `.grad` of leaves, taking over buffers that nobody else holds.

Who holds a buffer is counted in C (`objects`), where the engine's own references are known. In plain Python nobody is known to be
alone, and gradients are copied.

Users change gradients in place, so it matters which memory they have, and it is PyTorch's choice. The first gradient of a leaf
is taken over if nobody else holds it and its strides are the leaf's, and is copied otherwise. Who holds the indices and values
of a sparse one does not matter. Later ones are added to it in place. Where PyTorch would take over a view of memory that
others hold, so that gradients of two leaves may share memory, it is copied here.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from .._array.device import array_module, guard
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
            leaf._grad = wrap(keep(grad, leaf, owned))
        else:
            leaf._grad = grown(held, grad)


def grown(held: Tensor, grad: Any) -> Tensor:
    """A gradient with another one added to it: in place, unless it is sparse and becomes dense."""
    array = held._array
    if getattr(array, "is_sparse_array", False) and not getattr(grad, "is_sparse_array", False):
        return wrap(array + grad)
    held._array = _sum_into(array, grad)
    counter(held)[0] += 1
    return held


def sum_of_tensors(held: Any, grad: Any) -> Any:
    """Two gradients added up; a dense tensor comes first, since the sum with a sparse one is written in that order."""
    if type(held) is Tensor and held.is_sparse and not grad.is_sparse:
        return grad + held
    return held + grad


def _sum_into(held: Any, grad: Any) -> Any:
    if type(held) is not ndarray or type(grad) is not ndarray:
        if getattr(held, "is_sparse_array", False):
            return held + grad
        if getattr(grad, "is_sparse_array", False):
            held[...] = held + grad
            return held
        if waits(held, grad):
            return held
    held += grad
    return held


def _copied(grad: Any, like: Any) -> Any:
    """A copy, with the strides of the array `like` if that is dense."""
    if getattr(grad, "is_sparse_array", False):
        return grad.copy()
    with guard(grad):
        if getattr(like, "is_sparse_array", False) or like.flags.c_contiguous or not _is_dense(like):
            return grad.copy()
        made = (np if type(grad) is ndarray else array_module(grad)).empty_like(like, dtype=grad.dtype)
        made[...] = grad
        return made


def _obeys(grad: Any, like: Any) -> bool:
    """Whether the strides of a gradient are those of its variable, or plain ones if that has gaps or repeats elements."""
    if getattr(like, "is_sparse_array", False) or like.flags.c_contiguous:
        return grad.flags.c_contiguous
    if like.flags.f_contiguous:
        return grad.flags.f_contiguous
    return grad.strides == like.strides if _is_dense(like) else grad.flags.c_contiguous


def _is_dense(array: Any) -> bool:
    """Whether the elements of an array lie side by side, in whatever order."""
    order = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    return array.transpose(order).flags.c_contiguous


def keep(grad: Any, variable: Tensor, owned: bool) -> Any:
    """The gradient of `variable` itself if no one else can see its memory and its layout is right, else a copy. `owned`: nobody
    else holds `grad`."""
    if type(grad) is ndarray and type(grad.base) is bytearray:
        return grad.copy()  # a small one from another worker, in the middle of its message
    if owned:
        if getattr(grad, "is_sparse_array", False):
            if _can_be_kept(grad.indices) and _can_be_kept(grad.values):
                return grad
        elif owns_memory(grad) and _obeys(grad, variable._array):
            return grad
    return np.asarray(grad) if isinstance(grad, np.generic) else _copied(grad, variable._array)


def owns_memory(grad: Any) -> bool:
    """Whether an array that nobody else refers to has its memory for itself."""
    if isinstance(grad, np.ndarray):
        flags = grad.flags
        if grad.base is None:
            return flags.owndata and flags.writeable and flags.forc
        return flags.writeable and flags.forc and sole_bases(grad)
    return not isinstance(grad, np.generic) and getattr(grad, "base", None) is None


def _can_be_kept(part: Any) -> bool:
    """Whether the indices or values of a sparse gradient need no copy: they lie side by side, and are not a view of memory that
    others hold. Who else holds them is of no concern."""
    if type(part) is not ndarray:
        return part.flags.c_contiguous and part.base is None
    return part.flags.c_contiguous and part.flags.writeable and (part.base is None or sole_bases(part))


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
