"""In-place variants: compute out of place, write into the same memory, and give the tensor its new history."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._dtype import can_cast
from .._graph.node import Node
from .._graph.views import check_in_place, rebase
from .._tensor import Tensor, counter, wrap


def change(tensor: Tensor, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Replace the elements of `tensor` by those of `compute(old)`, `old` being the tensor as it was."""
    check_in_place(tensor)
    new = compute(before(tensor))
    check_result(new, tensor)
    tensor._array[...] = new._array
    changed(tensor, new._grad_fn)
    return tensor


def changed(tensor: Tensor, node: Node | None) -> None:
    """Note that `tensor`'s memory was changed by the operation of `node` (None: one that is not recorded)."""
    counter(tensor)[0] += 1
    if node is not None:
        rebase(tensor, node)
    elif tensor._view is not None:
        tensor._view.refresh(tensor)


def before(tensor: Tensor) -> Tensor:
    """The tensor as it is now: the same memory and history, in an object that the coming change leaves alone."""
    made = wrap(tensor._array)
    made._grad_fn, made._nr, made._counter = tensor.grad_fn, tensor._nr, counter(tensor)
    made._requires = tensor._requires
    return made


def check_result(new: Tensor, tensor: Tensor) -> None:
    """Refuse results that do not fit into the tensor."""
    if new._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(new.shape)}"
        )
    if not can_cast(new.dtype, tensor.dtype):
        raise RuntimeError(f"result type {_title(new)} can't be cast to the desired output type {_title(tensor)}")


def _title(tensor: Tensor) -> str:
    names = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short"}
    names |= {"int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}
    return names.get(tensor.dtype.name, tensor.dtype.name)


def in_place(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The in-place method `fn_` of a function `fn(input, ...)`."""

    @functools.wraps(fn)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return change(self, lambda old: fn(old, *args, **kwargs))

    method.__name__ = method.__qualname__ = fn.__name__ + "_"
    method.__doc__ = f"In-place version of `{fn.__name__}`."
    return method
