"""Rearranged copies: flip, roll, rot90, repeat and others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.layout import contiguous_format
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.dims import own_dim, wrap_dim, wrap_dims
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.sizes import sizes_of
from .._define.unbroadcast import expand as _expand
from .gather import index_select
from .getitem import index


def _flip(x: Any, *, dims: tuple[int, ...]) -> Any:
    return array_module(x).flip(x, dims).copy()


def _roll(x: Any, *, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    return array_module(x).roll(x, shifts, dims) if dims else array_module(x).roll(x, shifts[0])


def _roll_backward(F: Any, node: Any, g: Any) -> Any:
    return F.roll(g, shifts=tuple(-each for each in node.kw["shifts"]), dims=node.kw["dims"])


def _rot90(x: Any, *, k: int, dims: tuple[int, int]) -> Any:
    return array_module(x).rot90(x, k, dims).copy()


def _repeat(x: Any, *, repeats: tuple[int, ...]) -> Any:
    return array_module(x).tile(x, repeats)


def _repeat_backward(F: Any, node: Any, g: Any) -> Any:
    """The derivative: split every dimension into the number of repetitions and the original length, and sum over the repetitions.
    """
    shape, repeats = node.shapes[0], node.kw["repeats"]
    full = (1,) * (len(repeats) - len(shape)) + shape
    pairs = tuple(itertools.chain.from_iterable(zip(repeats, full)))
    if not pairs:
        return g
    summed = F.sum(F.reshape(g, shape=pairs), dim=tuple(range(0, len(pairs), 2)), keepdim=False)
    return F.reshape(summed, shape=shape)


FLIP = operator("flip", _flip, lambda F, node, g: F.flip(g, **node.kw))
ROLL = operator("roll", _roll, _roll_backward)
ROT90 = operator(
    "rot90", _rot90, lambda F, node, g: F.rot90(g, k=-node.kw["k"], dims=node.kw["dims"]), node="Rot90Backward0"
)
REPEAT = operator("repeat", _repeat, _repeat_backward)


def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverse the order of elements along the dimensions `dims`; a copy.

    >>> import mpigrad
    >>> mpigrad.flip(mpigrad.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    return (
        FLIP(input, dims=wrap_dims(sizes_of((dims,)), input._array.ndim) or ()) if input._array.ndim else input.clone()
    )


def _flip_method(self: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """Reverse the order of elements along some dimensions: `x.flip(0, 1)` or `x.flip((0, 1))`; a copy."""
    return flip(self, sizes_of(args if dims is None else (dims,)))


method(_flip_method, "flip")


@method
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of columns (dimension 1); a copy."""
    if input._array.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return FLIP(input, dims=(1,))


@method
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of rows (dimension 0); a copy."""
    if input._array.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return FLIP(input, dims=(0,))


@method
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """Shift elements cyclically by `shifts` along `dims` (an int, or one for each dimension); without `dims`, in the
    flattened tensor.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2])
    """
    by = sizes_of((shifts,))
    at = () if dims is None else tuple(own_dim(dim, input._array.ndim) for dim in sizes_of((dims,)))
    if not by:
        raise RuntimeError("`shifts` required")
    if not at and len(by) == 1:
        return ROLL(input, shifts=by, dims=())
    if len(by) != len(at):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(by)}, dims:{len(at)}")
    return ROLL(input, shifts=by, dims=at)


@method
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by 90 degrees, `k` times, in the plane of the two dimensions `dims`.

    >>> import mpigrad
    >>> mpigrad.rot90(mpigrad.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    given, ndim = sizes_of((dims,)), input._array.ndim
    if len(given) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(given)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    first, second = wrap_dim(given[0], ndim), wrap_dim(given[1], ndim)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {given[0]} and dim1 = {given[1]}")
    return ROT90(input, k=k, dims=(first, second))


@method
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Copies of this tensor side by side: `repeats` has the number of copies along each dimension.

    More numbers than dimensions add dimensions in front; fewer raise a RuntimeError.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    given = sizes_of(repeats)
    if len(given) < self._array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(each < 0 for each in given):
        whole = (*(1,) * (len(given) - self._array.ndim), *self._array.shape)
        sizes = [a * b for a, b in zip(whole, given)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    return REPEAT(self, repeats=given)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Copies of `input` side by side: `dims` has the number of copies along each of the last dimensions.

    >>> import mpigrad
    >>> mpigrad.tile(mpigrad.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    given = sizes_of((dims,))
    return repeat(input, (1,) * (input._array.ndim - len(given)) + given)


def _tile_method(self: Tensor, *dims: Any) -> Tensor:
    """Copies of this tensor side by side: `dims` has the number of copies along each of the last dimensions."""
    return tile(self, sizes_of(dims))


method(_tile_method, "tile")


@method
@guarded
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element of the flattened tensor, or with `dim` each slice of that dimension; the copies of one
    follow each other.

    `repeats` is a number, or a tensor with one for each element. `repeat_interleave(repeats)` with a tensor alone repeats
    each index i `repeats[i]` times. `output_size` is ignored.

    >>> import mpigrad
    >>> mpigrad.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        return wrap(np.repeat(np.arange(input._array.size), input._array))
    if dim is None:
        input, dim = input.flatten(), 0
    at = wrap_dim(dim, input._array.ndim)
    if not isinstance(repeats, Tensor):
        shape = input._array.shape
        wide = _expand(input.unsqueeze(at + 1), shape=(*shape[: at + 1], repeats, *shape[at + 1 :]))
        return wide.clone(memory_format=contiguous_format).reshape((*shape[:at], shape[at] * repeats, *shape[at + 1 :]))
    return index_select(input, at, wrap(_places(input._array.shape[at], repeats._array)))


def _places(length: int, repeats: Any) -> Any:
    if repeats.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 0D or 1D vectors as repeats")
    if repeats.size not in (1, length):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.size} and "
            "input.size(0) = "
            f"{length}"
        )
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    xp = array_module(repeats)
    return xp.repeat(xp.arange(length), repeats.reshape(-1).tolist() if xp is not np else repeats.reshape(-1))


@method
@guarded
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, one in each row. `with_replacement`: an element may occur several
    times.

    >>> import mpigrad
    >>> mpigrad.combinations(mpigrad.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input._array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input._array.size), r))
    return index(input, (array_module(input._array).asarray(rows, dtype="i8").reshape(len(rows), r),))


def _reversed(self: Tensor) -> Tensor:
    """The tensor with its first dimension reversed; numbers are returned unchanged."""
    return FLIP(self, dims=(0,)) if self._array.ndim else self


method(_reversed, "__reversed__")

__all__ = ["combinations", "flip", "fliplr", "flipud", "repeat_interleave", "roll", "rot90", "tile"]
