"""Overwriting tensors: fill_, zero_, copy_, set_."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import device_of, move, on_device
from mpigrad._core.node import check_in_place
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination, need_tensors
from .._define.binary import NUMBERS
from .._define.guarded import guarded
from .._define.inplace import before, changed, check_writable
from .._define.operator import OpNode, operator, refuse_sparse
from ..create.sparse_empty import empty_sparse


def _fill_forward(x: Any, value: Any = None, *, number: Any = 0) -> Any:
    x[...] = number if value is None else value
    return x


def _copy_forward(x: Any, source: Any, **kw: Any) -> Any:
    if source.dtype.kind == "c" and x.dtype.kind != "c":
        source = source.real
    x[...] = source
    return x


def _copy_backward(F: Any, node: Any, g: Any) -> Any:
    return _nothing(F, node, g), F.move_to(g, place=node.kw["place"]) if "place" in node.kw else g


def _nothing(F: Any, node: Any, g: Any) -> Any:
    """The gradient of overwritten elements: exact zeros (0 * nan would be nan)."""
    return F.zeros_like_shaped(g, shape=node.shapes[0]) if node.needs[0] else None


class _CopyNode(OpNode):
    """The node of a copy into a tensor; PyTorch names this node after its C++ class."""

    __slots__ = ()

    def name(self) -> str:
        return "torch::autograd::CopyBackwards"


_ZERO = operator("zero_into", _fill_forward, _nothing, node="ZeroBackward0")
_FILL_NUMBER = operator("fill_number_into", _fill_forward, _nothing, node="FillBackward2")
_FILL = operator(
    "fill_into", _fill_forward, lambda F, node, g: (_nothing(F, node, g), g), node="FillBackward3", broadcasts=True
)
_COPY = operator("copy_into", _copy_forward, _copy_backward, node="CopyBackwards", broadcasts=True, base=_CopyNode)


_FILLED_NUMBER = operator(
    "filled_with_number", lambda x, *, number: _fill_forward(x.copy(), number=number), _nothing, node="FillBackward0"
)
_FILLED = operator(
    "filled_with",
    lambda x, value: _fill_forward(x.copy(), value),
    lambda F, node, g: (_nothing(F, node, g), F.sum_to(g, shape=()) if node.needs[1] else None),
    node="FillBackward1",
)


@guarded
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor with the shape and type of `input`, filled with the number `value`.

    >>> import mpigrad
    >>> mpigrad.fill(mpigrad.zeros(2), 3)
    tensor([3., 3.])
    """
    need_tensors("fill", input=input)
    if not isinstance(value, Tensor):
        return _FILLED_NUMBER(input, number=value)
    if value._array.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value._array.ndim} dimensions."
        )
    return _FILLED(input, value)


@method
@guarded
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write `value` (a number, or a tensor with one element) into every element, in place; returns the tensor.

    >>> import mpigrad
    >>> mpigrad.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return _write(self, _FILL, (value,), {})
    if not isinstance(value, (*NUMBERS, np.generic)):
        raise invalid_combination("fill_", (value,), "Tensor value", "Number value")
    return _write(self, _FILL_NUMBER, (), {"number": value})


@method
@guarded
def zero_(self: Tensor) -> Tensor:
    """Write zeros into every element, in place; returns the tensor."""
    return _write(self, _ZERO, (), {})


@method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write the elements of `src` (a tensor, broadcast to this shape, of any type and on any device) into this
    tensor; returns it.

    `non_blocking` is ignored.

    >>> import mpigrad
    >>> mpigrad.zeros(2).copy_(mpigrad.tensor([1, 2]))
    tensor([1., 2.])
    """
    if not isinstance(src, Tensor):
        src = wrap(np.asarray(src))
    kw, here = {}, device_of(self._array)
    if device_of(src._array) != here:
        kw["place"] = device_of(src._array)
    _check_copy(self._array.shape, src._array.shape)
    return _write(self, _COPY, (src,), kw)


def _check_copy(into: tuple[int, ...], shape: tuple[int, ...]) -> None:
    for back, (m, n) in enumerate(zip(into[::-1], shape[::-1]), start=1):
        if m != n and n != 1:
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton dimension "
                f"{len(into) - back}"
            )
    if len(shape) > len(into):
        raise RuntimeError(f"output with shape {list(into)} doesn't match the broadcast shape {list(shape)}")


def _write(tensor: Tensor, op: Any, sources: tuple[Tensor, ...], kw: dict[str, Any]) -> Tensor:
    """Run an operator that writes into its first input, and update the tensor's `grad_fn`."""
    check_in_place(tensor, recorded=tensor._requires or any(each._requires for each in sources))
    # one number may be written into elements that share memory: the result is the same in any order
    if op is not _ZERO and op is not _FILL_NUMBER and not any(each is tensor for each in sources):
        check_writable(tensor._array)
    old = before(tensor)
    here = device_of(tensor._array)
    arrays = [move(each._array, here) for each in sources]
    with on_device(here):
        if tensor.is_sparse:
            _write_sparse(tensor, op, arrays)
        else:
            op.forward(tensor._array, *arrays, **kw)
    # recorded as an operator whose first input is the tensor as it was
    result = op.finish((old, *sources), tensor._array, kw)
    changed(tensor, result._grad_fn)
    return tensor


def _write_sparse(tensor: Tensor, op: Any, arrays: list[Any]) -> None:
    """Raise an error unless the value written into a sparse array is zero or a sparse array."""
    array = tensor._array
    if op is _ZERO:
        array.become(empty_sparse(device_of(array), array, array.dtype))
    elif op is _COPY and getattr(arrays[0], "is_sparse_array", False) and arrays[0].shape == array.shape:
        array.become(arrays[0].astype(array.dtype).copy())
    else:
        refuse_sparse("copy_" if op is _COPY else "fill_", tensor)


def _set(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Make this tensor share the memory of `source`; without `source`, make it empty."""
    self._array = np.empty(0, self._array.dtype) if source is None else source._array
    changed(self, None)
    return self


method(_set, "set_")


__all__ = ["fill"]
