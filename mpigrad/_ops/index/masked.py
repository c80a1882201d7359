"""Selecting and changing elements by a mask, and finding elements that are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import c_name
from .._define.guarded import guarded
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from ..shape.broadcasting import check_pair


def _fill(x: Any, mask: Any, value: Any = None, *, number: Any = 0) -> Any:
    xp = array_module(x)
    made = xp.empty(np.broadcast_shapes(x.shape, mask.shape), x.dtype)
    made[...] = x
    xp.copyto(made, x.dtype.type(number) if value is None else value.astype(x.dtype), where=mask)
    return made


def _fill_backward(F: Any, node: Any, g: Any, mask: Any) -> Any:
    into = F.sum_to(F.masked_fill_number(g, mask, number=0), shape=node.shapes[0]) if node.needs[0] else None
    if len(node.edges) == 2:
        return into, None
    value = F.sum_to(F.masked_select(g, mask), shape=()) if node.needs[2] else None
    return into, None, value if value is None else F.reshape(value, shape=node.shapes[2])


FILL_NUMBER = operator("masked_fill_number", _fill, _fill_backward, saves=(1,), node="MaskedFillBackward0")
FILL = operator("masked_fill", _fill, _fill_backward, saves=(1,), node="MaskedFillBackward1")


@method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy of `input` with `value` (a number, or a tensor with one element) where the bool tensor `mask` is True.

    >>> import mpigrad
    >>> mpigrad.zeros(2).masked_fill(mpigrad.tensor([True, False]), 5)
    tensor([5., 0.])
    """
    if mask._array.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask._array)}")
    check_pair(mask._array.shape, input._array.shape)
    if not isinstance(value, Tensor):
        _check_number(input, value)
        return FILL_NUMBER(input, mask, number=value)
    if value._array.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value._array.ndim} dimension(s)."
        )
    return FILL(input, mask, value)


def _check_number(input: Tensor, value: Any) -> None:
    if isinstance(value, complex) and input._array.dtype.kind not in "bc":
        raise RuntimeError(f"value cannot be converted to type {_stored(input._array)} without overflow")


def _stored(array: Any) -> str:
    """The name of an element type as `masked_fill`'s error spells it: int64_t, float, ..."""
    return f"{array.dtype.name}_t" if array.dtype.kind in "iu" and array.itemsize != 4 else c_name(array)


method(in_place(masked_fill), "masked_fill_")


def _select(x: Any, mask: Any) -> Any:
    if x.shape != mask.shape:
        x, mask = array_module(x).broadcast_arrays(x, mask)
    return x[mask]


def _spread(x: Any, mask: Any, *, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape, with the elements of `x` in order where `mask` is True: the derivative of `masked_select`."""
    made = array_module(x).zeros(shape, x.dtype)
    made[mask if mask.shape == shape else array_module(x).broadcast_to(mask, shape)] = x
    return made


def _select_backward(F: Any, node: Any, g: Any, mask: Any) -> Any:
    shape = tuple(np.broadcast_shapes(node.shapes[0], node.shapes[1]))
    return F.sum_to(F.masked_spread(g, mask, shape=shape), shape=node.shapes[0]), None


SELECT = operator("masked_select", _select, _select_backward, saves=(1,))
operator(
    "masked_spread",
    _spread,
    lambda F, node, g, mask: (F.masked_select(g, mask), None),
    saves=(1,),
    node="MaskedScatterBackward0",
)


@method
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the bool tensor `mask` is True, as a vector. Mask and input are broadcast. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3]).masked_select(mpigrad.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask._array.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_pair(mask._array.shape, input._array.shape)
    return deliver(SELECT(input, mask), out)


def _scatter(x: Any, mask: Any, source: Any) -> Any:
    xp = array_module(x)
    made = xp.empty(np.broadcast_shapes(x.shape, mask.shape), x.dtype)
    made[...] = x
    where = xp.broadcast_to(mask, made.shape)
    made[where] = source.reshape(-1)[: int(where.sum())]
    return made


def _scatter_backward(F: Any, node: Any, g: Any, mask: Any) -> Any:
    into = F.sum_to(F.masked_fill_number(g, mask, number=0), shape=node.shapes[0])
    if not node.needs[2]:
        return into, None, None
    used = F.masked_select(g, mask)
    count, size = tuple(used.shape)[0], int(np.prod(node.shapes[2], dtype=np.int64))
    return into, None, F.reshape(F.place(used, shape=(size,), key=(slice(0, count),)), shape=node.shapes[2])


SCATTER = operator("masked_scatter", _scatter, _scatter_backward, saves=(1,))


@method
@guarded
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of `input` in which the elements where the bool tensor `mask` is True are replaced by those of `source`,
    in order.
    """
    if mask._array.dtype.kind != "b":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {c_name(mask._array)}"
        )
    if source._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    check_pair(mask._array.shape, input._array.shape)
    shape = np.broadcast_shapes(input._array.shape, mask._array.shape)
    if source._array.size < int(np.broadcast_to(mask._array, shape).sum()):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return SCATTER(input, mask, source)


method(in_place(masked_scatter), "masked_scatter_")


@method
@guarded
def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of nonzero elements: (count, dimensions), one row for each; int64.

    With `as_tuple` a tuple with one vector for each dimension, which can be used as an index. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.tensor([0, 5, 7]).nonzero()
    tensor([[1],
            [2]])
    """
    array = input._array
    if array.ndim == 0:
        count = int(bool(array))
        empty = array_module(array).zeros((count, 0), np.int64)
        return (wrap(array_module(array).zeros(count, np.int64)),) if as_tuple else deliver(wrap(empty), out)
    found = array.nonzero()
    if as_tuple:
        return tuple(wrap(each) for each in found)
    return deliver(wrap(array_module(array).stack(found, 1)), out)


@method
@guarded
def argwhere(input: Tensor) -> Tensor:
    """The indices of nonzero elements: (count, dimensions), one row for each; `nonzero` without `as_tuple`."""
    return nonzero(input)


__all__ = ["argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero"]
