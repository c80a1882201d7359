"""`SparseArray`: coordinates and values. Indices may repeat (their values add up) unless it is coalesced.

It supports the array operations that gradients need: `+` of two sparse arrays concatenates their lists without a dense copy, `+`
with a dense array is dense, `*` keeps the indices that both have. Shapes are (sparse dimensions..., dense dimensions...).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._kernels.runs import sorted_runs, sums_of_runs

from ..device import array_module


class SparseLayoutError(NotImplementedError, AttributeError):
    """Raised for operations that only dense arrays support."""


class SparseArray:
    """A sparse array: `indices` (sparse dimensions, count) of int64, `values` (count, *dense shape), and the whole
    `shape`.
    """

    __slots__ = ("indices", "is_coalesced", "shape", "values")
    is_sparse_array = True
    __array_ufunc__ = None  # makes NumPy call our __radd__ for dense + sparse

    def __init__(self, indices: Any, values: Any, shape: tuple[int, ...], is_coalesced: bool = False) -> None:
        self.indices, self.values, self.shape = indices, values, tuple(shape)
        self.is_coalesced = is_coalesced or indices.shape[1] < 2

    def __getattr__(self, name: str) -> Any:
        raise SparseLayoutError(f"a sparse tensor has no {name!r}: this operation has no sparse version; use to_dense() first")

    # -- attributes ------------------------------------------------------------------------------------------------
    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return self.values.shape[0]

    @property
    def sparse_dim(self) -> int:
        """The number of sparse dimensions."""
        return self.indices.shape[0]

    @property
    def dense_dim(self) -> int:
        """The number of dense dimensions."""
        return self.values.ndim - 1

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse dimensions."""
        return self.shape[: self.sparse_dim]

    # -- copies and conversions ------------------------------------------------------------------------------------
    def become(self, other: SparseArray) -> None:
        """Replace indices and values in place by those of another; all tensors that share this object see the change."""
        self.indices, self.values, self.is_coalesced = other.indices, other.values, other.is_coalesced
        self.shape = other.shape

    def frozen(self) -> SparseArray:
        """A new object with the same arrays; later in-place changes of this one do not affect it."""
        return SparseArray(self.indices, self.values, self.shape, self.is_coalesced)

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseArray, (self.indices, self.values, self.shape, self.is_coalesced)

    def moved(self, move: Callable[[Any], Any]) -> SparseArray:
        """A copy whose indices and values are the results of `move(array)`."""
        return SparseArray(move(self.indices), move(self.values), self.shape, self.is_coalesced)

    def copy(self) -> SparseArray:
        """A deep copy."""
        return SparseArray(self.indices.copy(), self.values.copy(), self.shape, self.is_coalesced)

    def with_values(self, values: Any) -> SparseArray:
        """A sparse array with other values at the same indices."""
        return SparseArray(self.indices, values, self.shape, self.is_coalesced)

    def astype(self, kind: Any, copy: bool = True) -> SparseArray:
        """A copy with values of another type."""
        return self.with_values(self.values.astype(kind, copy=copy))

    @property
    def real(self) -> SparseArray:
        return self.with_values(self.values.real)

    def conj(self) -> SparseArray:
        return self.with_values(self.values.conj())

    def flat_indices(self) -> Any:
        """The flat index of each stored element, in row-major order."""
        return flatten(self.indices, self.sparse_shape)

    def distinct(self) -> SparseArray:
        """This array if no index repeats; otherwise a coalesced copy."""
        if self.is_coalesced:
            return self
        xp = array_module(self.values)
        return self if xp.unique(self.flat_indices()).shape[0] == self.nnz else self.coalesce()

    def coalesce(self) -> SparseArray:
        """A copy with sorted, unique indices and the sums of their values."""
        if self.is_coalesced:
            return self
        order, starts = sorted_runs(self.flat_indices(), _places(self))
        summed = sums_of_runs(self.values, order, starts)
        return SparseArray(self.indices[:, order[starts]], summed, self.shape, True)

    def sum(self, axis: Any = None, **kw: Any) -> Any:
        """The sum over some dimensions, as a dense array."""
        return self.to_dense().sum(axis=axis, **kw)

    def to_dense(self) -> Any:
        """The same elements as a dense array."""
        return self.add_to(array_module(self.values).zeros(self.shape, self.dtype))

    def add_to(self, dense: Any) -> Any:
        """Add the elements of this sparse array to a dense array, in place."""
        each = self.coalesce()
        if each.nnz:
            if each.sparse_dim == 0:
                dense += each.values.sum(axis=0)
            else:
                dense[tuple(each.indices)] += each.values
        return dense

    def values_at(self, indices: Any) -> Any:
        """The values at some indices; zero where none is stored."""
        each = self.coalesce()
        xp = array_module(each.values)
        made = xp.zeros((indices.shape[1], *each.values.shape[1:]), each.dtype)
        if each.nnz:
            known, wanted = each.flat_indices(), flatten(indices, self.sparse_shape)
            place = xp.minimum(xp.searchsorted(known, wanted), known.shape[0] - 1)
            found = known[place] == wanted
            made[found] = each.values[place[found]]
        return made

    # -- transposition -----------------------------------------------------------------------------------
    def transpose(self, order: tuple[int, ...]) -> SparseArray:
        """Permute the dimensions; sparse and dense dimensions cannot be exchanged."""
        count = self.sparse_dim
        if any((place < count) != (dim < count) for place, dim in enumerate(order)):
            raise RuntimeError(
                "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions "
                "within sparse and dense dimensions are supported."
            )
        values = self.values.transpose((0, *(dim - count + 1 for dim in order[count:])))
        flag = self.is_coalesced and tuple(order[:count]) == tuple(range(count))
        return SparseArray(self.indices[list(order[:count])], values, tuple(self.shape[dim] for dim in order), flag)

    def swapaxes(self, first: int, second: int) -> SparseArray:
        """Swap two sparse dimensions."""
        if max(first, second) >= self.sparse_dim and first != second:
            raise RuntimeError(
                f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {self.sparse_dim}, d0: {first}, "
                f"d1: {second}"
            )
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(tuple(order))

    @property
    def T(self) -> SparseArray:
        """The transposed matrix."""
        if self.ndim > 2 or self.dense_dim:
            raise RuntimeError(
                f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.sparse_dim} sparse and "
                f"{self.dense_dim} dense dimensions"
            )
        return self.transpose(tuple(range(self.ndim))[::-1])

    # -- arithmetic --------------------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseArray):
            return joined(self, other)
        if other.shape != self.shape:
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(other.shape)} while other has "
                f"size {list(self.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
            )
        return self.add_to(other.astype(np.result_type(other.dtype, self.dtype), copy=True))

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __neg__(self) -> SparseArray:
        return self.with_values(-self.values)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SparseArray):
            return common(self, other)
        if getattr(other, "ndim", 0) == 0:
            return self.with_values(self.values * other)
        if other.ndim > self.ndim:
            raise RuntimeError(f"mul: a sparse tensor of size {list(self.shape)} cannot be broadcast to {list(other.shape)}")
        return self.with_values(self.values * dense_at(other, self))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseArray:
        if getattr(other, "ndim", 0) != 0:
            refuse_divisor(other)
        return self.with_values(self.values / other)

    def __rtruediv__(self, other: Any) -> Any:
        refuse_divisor(self)


def refuse_divisor(divisor: Any) -> None:
    """Raise an error unless the divisor is a number: PyTorch supports no other division of sparse tensors."""
    raise RuntimeError(
        f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(divisor.shape)} for divisor)"
    )


def with_row(indices: Any, place: int, value: int) -> Any:
    """Insert a dimension at position `place` into indices, with the coordinate `value` for all elements."""
    xp = array_module(indices)
    row = xp.full((1, indices.shape[1]), value, indices.dtype)
    return xp.concatenate([indices[:place], row, indices[place:]])


def flatten(indices: Any, shape: tuple[int, ...]) -> Any:
    """Convert coordinates (dimensions, count) in an array of this shape to flat indices (count,)."""
    if len(shape) == 1:
        return indices[0]
    xp = array_module(indices)
    flat = xp.zeros(indices.shape[1], np.int64)
    for row, length in zip(indices, shape):
        flat = flat * length + row
    return flat


def unflatten(flat: Any, shape: tuple[int, ...]) -> Any:
    """Convert flat indices (count,) to coordinates (dimensions, count) in an array of this shape."""
    xp = array_module(flat)
    rows = []
    for length in reversed(shape):
        rows.append(flat % length)
        flat = flat // length
    return xp.stack(rows[::-1]) if rows else xp.zeros((0, flat.shape[0]), np.int64)


def joined(a: SparseArray, b: SparseArray) -> SparseArray:
    """The sum `a + b` of two sparse arrays: their lists of elements concatenated, or one of them if the other is
    empty.
    """
    if a.shape != b.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")
    if a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {a.sparse_dim} sparse dimensions while "
            f"'other' has {b.sparse_dim} sparse dimensions"
        )
    both = a.is_coalesced and b.is_coalesced
    if not a.nnz or not b.nnz:
        some, kind = b if b.nnz else a, np.result_type(a.dtype, b.dtype)
        return SparseArray(some.indices.copy(), some.values.astype(kind), a.shape, both)
    xp = array_module(a.values)
    if a.nnz == b.nnz and (a.indices is b.indices or bool((a.indices == b.indices).all())):
        return SparseArray(a.indices, a.values + b.values, a.shape, both)
    made = SparseArray(xp.concatenate([a.indices, b.indices], axis=1), xp.concatenate([a.values, b.values]), a.shape)
    return made.coalesce() if both or made.nnz > _places(a) else made


def _places(a: SparseArray) -> int:
    """The number of possible indices. If `a` has more, some occur twice; then sums are coalesced, as they would grow forever."""
    count = 1
    for length in a.sparse_shape:
        count *= length
    return count


def common(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product `a * b` of two sparse arrays: sparse, at the indices that both have."""
    if a.shape != b.shape or a.sparse_dim != b.sparse_dim:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse "
            f"dimensions, and shape of sparse dimensions, not {list(a.shape)} and {list(b.shape)}"
        )
    if a.nnz == b.nnz and a.indices is b.indices and a.is_coalesced:
        return a.with_values(a.values * b.values)
    if not (a.is_coalesced and b.is_coalesced) and a.nnz and b.nnz:
        return _common_of_lists(a, b)
    a, b = a.coalesce(), b.coalesce()
    xp = array_module(a.values)
    mine, theirs = a.flat_indices(), b.flat_indices()
    both = xp.isin(mine, theirs)
    at = xp.searchsorted(theirs, mine[both])
    return SparseArray(a.indices[:, both], a.values[both] * b.values[at], a.shape, True)


def _common_of_lists(a: SparseArray, b: SparseArray) -> SparseArray:
    """The product if indices may repeat: at all indices of the operand with duplicates (if both: the shorter), as in PyTorch."""
    first = not a.is_coalesced and (b.is_coalesced or a.nnz < b.nnz)
    some, other = (a, b) if first else (b, a)
    return SparseArray(some.indices, some.values * other.values_at(some.indices), a.shape)


def dense_at(dense: Any, places: SparseArray) -> Any:
    """The elements of `dense` (of the same or a broadcast shape) at the indices of the sparse array `places`."""
    if dense.shape != places.shape:
        dense = array_module(dense).broadcast_to(dense, places.shape)
    if places.sparse_dim == 0:
        return dense[None].repeat(places.nnz, axis=0)
    return dense[tuple(places.indices)]
