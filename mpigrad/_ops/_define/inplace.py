"""In-place variants: compute out of place, write into the same memory, and update the tensor's `grad_fn`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from numpy import ndarray

from mpigrad._array.device import guard
from mpigrad._array.dtype import can_cast
from mpigrad._core.node import Node, note_reshaped, rebase
from mpigrad._core.node import check_in_place as check_in_place
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, counter

from .arguments import title
from .operator import Operator

_UNSEEN = 2  # references to an object that only a local variable holds: the variable, and getrefcount's argument


def change(tensor: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace the elements of `tensor` by those of `compute(old)`, `old` being the tensor as it was."""
    check_in_place(tensor)
    check_writable(tensor._array)
    old = before(tensor)
    new = compute(old)
    check_result(new, tensor)
    if new._requires:
        if not tensor._requires:
            # the tensor is about to get a graph, which leaves and some views must not
            check_in_place(tensor, recorded=True)
        if sys.getrefcount(old) > _UNSEEN:  # other objects have saved the old elements and get a copy of them
            with guard(old._array):
                old._array, old._counter = old._array.copy(), [old._version]
    _write(tensor._array, new._array)
    changed(tensor, new._grad_fn)
    if new._requires:
        _share_results(new, tensor)
    return tensor


def _write(into: Any, new: Any) -> None:
    if into.__class__ is ndarray:
        into[...] = new
    elif not getattr(into, "is_sparse_array", False):
        with guard(into):
            into[...] = new
    elif getattr(new, "is_sparse_array", False):
        into.become(new.astype(into.dtype, copy=False))
    else:
        raise RuntimeError("a sparse tensor cannot take the elements of a dense one in place: use to_dense() first")


def _share_results(new: Tensor, tensor: Tensor) -> None:
    """If the operation saved its result, save the tensor itself instead, which has the same elements, so that one array is kept,
    not two.
    """
    node: Any = new._grad_fn
    counter(new)  # creates the counter of a result that was saved as an array without one
    saved, array = getattr(node, "saved", None), tensor._array
    if saved.__class__ is not tuple or not saved or array.dtype != new._array.dtype:
        return
    versions = list(node.versions)
    for place, each in enumerate(saved):
        if each is not None and each.__class__ is Tensor and each._array is new._array:
            each._array, each._counter = array, counter(tensor)
            versions[place] = each._counter[0]
    node.versions = tuple(versions)


def changed(tensor: Tensor, node: Node | None) -> None:
    """Record that the operation of `node` (None: unrecorded) has changed the memory of `tensor`."""
    counter(tensor)[0] += 1
    if node is not None:
        rebase(tensor, node)


def before(tensor: Tensor) -> Tensor:
    """An alias of the tensor as it is in the graph now; the in-place change that follows does not affect its
    `grad_fn`.
    """
    made = wrap(tensor._array)
    made._counter = counter(tensor)
    if MODE.enabled:
        # the property `grad_fn`, not the field: for a view whose base has changed it makes the current node first
        made._grad_fn, made._nr, made._requires = tensor.grad_fn, tensor._nr, tensor._requires
    return made


def reshape_in_place(
    tensor: Tensor, step: Operator, undo: Operator, kw: dict[str, Any], undo_kw: dict[str, Any]
) -> Tensor:
    """Change the shape of `tensor` in place by a view operator; other views of its memory are not affected."""
    check_in_place(tensor)
    new = step(before(tensor), **kw)
    tensor._array = new._array
    counter(tensor)[0] += 1
    view = tensor._view
    if view is None:
        # views made earlier refer to the old shape of their base: they apply `undo` before their own steps
        note_reshaped(tensor, (undo, undo_kw))
    else:
        chain = (*view.chain, (step, kw))
        view.chain, view.version = chain, counter(tensor)[0]
    if new._grad_fn is not None:
        tensor._grad_fn, tensor._nr = new._grad_fn, new._nr
    return tensor


def check_writable(array: Any) -> None:
    """Raise an error if several elements of the tensor share one memory location, as in expanded tensors."""
    if getattr(array, "is_sparse_array", False):
        return
    if (
        0 in array.strides
        and array.size
        and any(length > 1 and not stride for length, stride in zip(array.shape, array.strides))
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def check_result(new: Tensor, tensor: Tensor) -> None:
    """Raise PyTorch's error if a result has not the shape of the tensor into which it is to be written."""
    if new._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(new.shape)}"
        )
    check_type(new, tensor)


def check_type(new: Tensor, tensor: Tensor) -> None:
    """Raise PyTorch's error if a result's type cannot be converted to that of the tensor into which it is to be written."""
    if new._array.dtype is not tensor._array.dtype and not can_cast(new.dtype, tensor.dtype):
        raise RuntimeError(
            f"result type {title(new._array)} can't be cast to the desired output type {title(tensor._array)}"
        )


def in_place(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The in-place method `fn_` of a function `fn(input, ...)`."""

    @functools.wraps(fn)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return change(self, lambda old: fn(old, *args, **kwargs))

    method.__name__ = method.__qualname__ = fn.__name__ + "_"
    method.__doc__ = (
        f"`{fn.__name__}` in place: overwrite this tensor with the result, and return it. Arguments: those of `{fn.__name__}`."
    )
    return method
