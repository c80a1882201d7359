"""Reading along one dimension by index tensors: gather, take_along_dim, index_select."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.dims import wrap_dim
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.out import deliver
from ..shape.broadcasting import check_pair
from .add_at import add_at

_ALL = slice(None)


def grid(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """The NumPy key for `gather`: for each position of `index`, the element with that index along `dim`."""
    ndim, shape = index.ndim, index.shape
    if ndim == 1:
        return (index,)
    count = _count if xp is np else partial(_counted, xp)
    return tuple([index if each == dim else count(shape[each], ndim - each - 1) for each in range(ndim)])


def _counted(xp: Any, length: int, after: int) -> Any:
    """0, 1, ..., length - 1 along a dimension, as an array that has `after` more dimensions behind it."""
    return xp.arange(length).reshape((length,) + (1,) * after)


@lru_cache(maxsize=256)
def _short_count(length: int, after: int) -> Any:
    made = _counted(np, length, after)
    made.flags.writeable = False
    return made


def _count(length: int, after: int) -> Any:
    return _short_count(length, after) if length <= 1024 else _counted(np, length, after)


def _gather(x: Any, index: Any, *, dim: int) -> Any:
    if x.ndim == 0 or index.ndim == 0:
        return x.reshape(-1)[index]
    return x[grid(array_module(x), index, dim)]


def _gather_back(x: Any, index: Any, *, dim: int, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape, with `x` added where `gather` would read."""
    xp = array_module(x)
    made = xp.zeros(shape, x.dtype)
    if made.ndim == 0 or index.ndim == 0:
        add_at(made.reshape(-1), (index.reshape(-1),), x.reshape(-1))
    elif index.size:
        add_at(made, grid(xp, index, dim), x)
    return made


GATHER = operator(
    "gather",
    _gather,
    lambda F, node, g, index: (F.gather_back(g, index, shape=node.shapes[0], **node.kw), None),
    saves=(1,),
)
operator(
    "gather_back",
    _gather_back,
    lambda F, node, g, index: (F.gather(g, index, dim=node.kw["dim"]), None),
    saves=(1,),
    node="ScatterAddBackward0",
)


def check_index(name: str, index: Tensor, what: str = "int32/int64") -> None:
    """Raise PyTorch's error unless `index` is a tensor of integers; `what` names the types that the function `name`
    accepts.
    """
    need_tensors(name, index=index)
    if index._array.dtype.kind != "i" or index._array.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype {what} for index")


def check_bounds(index: Any, length: int, dim: int) -> None:
    """Raise PyTorch's error for indices outside of dimension `dim` of this length; negative ones are not allowed
    either.
    """
    if index.size and (index.min() < 0 or index.max() >= length):
        wrong = index[(index < 0) | (index >= length)].reshape(-1)[0]
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {length}")


def check_along(name: str, input: Tensor, dim: int, index: Tensor, sized: bool = True) -> int:
    """Check the index tensor of an elementwise gather or scatter; returns the dimension, counted from 0.

    `sized`: in other dimensions the index must not be longer than the input.
    """
    need_tensors(name, index=index)
    shape, other = input._array.shape, index._array.shape
    at = wrap_dim(dim, len(shape))
    check_index(name, index)
    if max(len(shape), 1) != max(len(other), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if sized:
        for i, (m, n) in enumerate(zip(shape, other)):
            if i != at and n > m and index._array.size:
                raise RuntimeError(
                    f"Size does not match at dimension {i} expected index {list(other)} to be no larger than self "
                    f"{list(shape)} apart from dimension {at}"
                )
    check_bounds(index._array, shape[at] if shape else 1, at)
    return at


@method
@guarded
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Read elements by index along a dimension: `result[i][j] = input[index[i][j]][j]` for `dim=0`.

    `index` is int64 and gives the shape of the result; an index out of range raises a RuntimeError. `sparse_grad` has
    no effect. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]]).gather(1, mpigrad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    return deliver(GATHER(input, index, dim=check_along("gather", input, dim, index)), out)


@method
@guarded
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Read elements by index along `dim`: `gather` whose arguments are broadcast; without `dim`, of the flattened
    tensor.

    `indices` is int64, for example a result of `argsort`. `out`: a tensor to which the result is written.
    """
    check_index("take_along_dim", indices)
    if dim is None:
        return gather(input.reshape(-1 if input._array.size else 0), 0, indices.reshape(-1), out=out)
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "mpigrad.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    at = wrap_dim(dim, input._array.ndim)
    shape, other = list(input._array.shape), list(indices._array.shape)
    shape[at] = other[at] = 1
    check_pair(tuple(shape), tuple(other))
    both = list(np.broadcast_shapes(tuple(shape), tuple(other)))
    wide = [*both[:at], input._array.shape[at], *both[at + 1 :]]
    long = [*both[:at], indices._array.shape[at], *both[at + 1 :]]
    if indices._array.size and indices._array.min() < 0:  # negative indices count from the end, unlike those of gather
        indices = wrap(array_module(indices._array).where(indices._array < 0, indices._array + wide[at], indices._array))
    return gather(input.broadcast_to(wide), at, indices.broadcast_to(long), out=out)


def _index_select(x: Any, index: Any, *, dim: int) -> Any:
    places = index if index.ndim == 1 else index.reshape(-1)
    return x.take(places, dim) if x.ndim else x.reshape(1)[places].reshape(())


def _spread_slices(x: Any, index: Any, *, dim: int, shape: tuple[int, ...]) -> Any:
    made = array_module(x).zeros(shape, x.dtype)
    if not shape:
        return made + x
    add_at(made, (_ALL,) * dim + (index.reshape(-1),), x)
    return made


INDEX_SELECT = operator(
    "index_select",
    _index_select,
    lambda F, node, g, index: (F.spread_slices(g, index, shape=node.shapes[0], **node.kw), None),
    saves=(1,),
)
operator(
    "spread_slices",
    _spread_slices,
    lambda F, node, g, index: (F.index_select(g, index, dim=node.kw["dim"]), None),
    saves=(1,),
    node="IndexAddBackward0",
)


@method
@guarded
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of dimension `dim` at the indices `index`, a vector of int64 or int32: a copy. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.tensor([[1, 2], [3, 4]]).index_select(1, mpigrad.tensor([1, 0]))
    tensor([[2, 1],
            [4, 3]])
    """
    need_tensors("index_select", index=index)
    places, array = index._array, input._array
    at = wrap_dim(dim, array.ndim)
    if places.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    check_index("index_select", index, "int32 or int64")
    try:
        if places.size and places.min() < 0:
            raise IndexError("indices from the end are not allowed here")
        return deliver(INDEX_SELECT(input, index, dim=at), out)
    except IndexError:
        raise IndexError("index out of range in self") from None


__all__ = ["gather", "index_select", "take_along_dim"]
