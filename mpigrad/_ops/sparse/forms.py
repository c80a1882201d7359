"""Conversion between sparse and dense: creating sparse tensors, their indices and values, coalescing, masking.

Gradients have the layout that PyTorch gives them: the gradient of the values is dense, that of a sparse tensor is sparse, with
the same indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, guard, move, resolve
from mpigrad._array.dtype import as_dtype, dtype, int64
from mpigrad._array.sparse.array import SparseArray, dense_at
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import add_to_both
from mpigrad._tensor import Size, Tensor, method

from .._define.operator import operator, refuse_sparse
from .._define.sparse_calls import on_arrays
from ..create.create import tensor as make_tensor

__all__ = ["sparse_coo_tensor"]


def is_sparse_array(x: Any) -> bool:
    """Whether an array is sparse."""
    return x.__class__ is SparseArray


# -- places as an argument: `like` is a SparseArray that says where; it is never differentiated ----------------------------
def _values_like(g: Any, *, like: SparseArray, sparse: bool = False) -> Any:
    """The elements of a gradient, sparse or dense, at the indices of `like`."""
    return g.values_at(like.indices) if is_sparse_array(g) else dense_at(g, like)


def _sparse_like(v: Any, *, like: SparseArray) -> SparseArray:
    """A sparse array with these values at the indices of `like`."""
    return like.with_values(v)


def _values_back(F: Any, node: Any, h: Any) -> Any:
    found = F.sparse_like(h, like=node.kw["like"])
    return found if node.kw.get("sparse") else F.dense_gradient(found)


values_like = operator("values_like", _values_like, _values_back, node="SparseMaskBackward0")
sparse_like = operator(
    "sparse_like", _sparse_like, lambda F, node, g: F.values_like(g, like=node.kw["like"]),
    node="SparseCooTensorWithDimsAndTensorsBackward0",
)  # fmt: skip
values_like.sparse = lambda op, inputs, kw: on_arrays(op, inputs, {**kw, "sparse": True})


def _mask_raw(g: Any, *, like: SparseArray) -> SparseArray:
    like = like.distinct()
    return like.with_values(_values_like(g, like=like))


def _mask_recorded(g: Tensor, *, like: SparseArray) -> Tensor:
    like = like.distinct()
    return sparse_like(values_like(g, like=like), like=like)


add_to_both("mask_like", _mask_raw, _mask_recorded)
sparse_mask_op = operator(
    "sparse_mask", lambda x, *, like, dense: like.with_values(_values_like(x, like=like)), lambda F, node, g: _unmask(F, node, g),
    node="SparseMaskBackward0",
)  # fmt: skip


def _unmask(F: Any, node: Any, g: Any) -> Any:
    like = node.kw["like"]
    found = F.sparse_like(F.values_like(g, like=like), like=like)
    return F.dense_gradient(found) if node.kw["dense"] else found


def _like(node: Any) -> SparseArray:
    return node.kw["places"]


values_op = operator(
    "sparse_values",
    lambda x, *, places: x.values,
    lambda F, node, g: F.sparse_like(g, like=_like(node)),
    node="ValuesBackward0",
)
coalesce_op = operator("coalesce", lambda x: x.coalesce(), lambda F, node, g: g, node="CoalesceBackward0")
to_dense_op = operator(
    "to_dense",
    lambda x, *, places: x.to_dense(),
    lambda F, node, g: F.mask_like(g, like=_like(node)),
    node="ToDenseBackward0",
)


def _dense_gradient(g: Any) -> Any:
    return g.to_dense() if is_sparse_array(g) else g


def _dense_gradient_recorded(g: Tensor) -> Tensor:
    return g.to_dense() if g.is_sparse else g


add_to_both("dense_gradient", _dense_gradient, _dense_gradient_recorded)


def _to_sparse(x: Any, *, sparse_dim: int) -> SparseArray:
    xp = array_module(x)
    held = (x != 0).any(axis=tuple(range(sparse_dim, x.ndim))) if sparse_dim < x.ndim else x != 0
    if not x.ndim:
        return SparseArray(xp.zeros((0, int(held)), np.int64), x.reshape(1)[: int(held)].copy(), (), True)
    places = xp.nonzero(held)
    return SparseArray(xp.stack(places).astype(np.int64), x[places], x.shape, True)


to_sparse_op = operator("to_sparse", _to_sparse, lambda F, node, g: F.dense_gradient(g), node="ToSparseBackward1")
to_sparse_dim_op = operator(
    "to_sparse_dim", _to_sparse, lambda F, node, g: F.dense_gradient(g), node="ToSparseBackward0"
)
for _each in (values_op, coalesce_op, to_dense_op, sparse_mask_op):
    _each.sparse = on_arrays


# -- what users call -----------------------------------------------------------------------------------------------------
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: dtype | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinate format, with `values` at `indices` and zeros elsewhere; values of repeated
    indices add up.

    - `indices`: int64, (sparse dimensions, count), one column for each value; nested lists are accepted. Those out of
      range raise a RuntimeError (`check_invariants` has no effect).
    - `values`: (count, ...); more dimensions than one make dense dimensions. `size`: the shape, by default the
      smallest that fits.
    - `dtype`, `device`: by default those of `values`. `is_coalesced`: promise that indices are sorted and unique.

    >>> import mpigrad
    >>> mpigrad.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None and size is None and isinstance(indices, (tuple, Size)):
        indices, size = None, indices  # sparse_coo_tensor((2, 3)): an empty sparse tensor of this size
    if indices is None:
        return _empty(size, dtype, device, requires_grad)
    if values is None:
        raise TypeError("sparse_coo_tensor() takes indices, values and a size, or a size alone")
    given = values if isinstance(values, Tensor) else make_tensor(values, dtype=dtype)
    if dtype is not None:
        given = given.to(as_dtype(dtype))
    if device is not None:
        given = given.to(device)
    elif isinstance(values, Tensor) is False and isinstance(indices, Tensor):
        given = given.to(indices.device)
    where = indices._array if isinstance(indices, Tensor) else make_tensor(indices, dtype=int64)._array
    with guard(where):
        where = where.astype(np.int64, copy=False)
    where = move(where, given.device)
    if where.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(where.shape)}")
    if given._array.ndim == 0:
        given = given.reshape(1)
    value = given._array
    if where.shape[1] != value.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {where.shape[1]}, nnz from values: "
            f"{value.shape[0]}"
        )
    with guard(where):
        shape = _infer(where, value) if size is None else _checked(tuple(size), where, value)
    like = SparseArray(where, value, shape, bool(is_coalesced))
    if requires_grad and value.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made = sparse_like(given, like=like) if given._requires else wrap(like)
    if requires_grad and not made._requires:
        made.requires_grad_()
    return made


def _empty(size: Any, kind: dtype | None, place: Any, requires_grad: bool) -> Tensor:
    if size is None:
        raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
    values = make_tensor([], dtype=kind).to(resolve(place))._array
    with guard(values):
        indices = array_module(values).zeros((len(tuple(size)), 0), np.int64)
    made = wrap(SparseArray(indices, values, tuple(size), True))
    return made.requires_grad_() if requires_grad else made


def _infer(indices: Any, values: Any) -> tuple[int, ...]:
    if indices.size and int(indices.min()) < 0:
        dim = next(dim for dim, row in enumerate(indices) if int(row.min()) < 0)
        raise RuntimeError(f"found negative index {int(indices[dim].min())} for dim {dim}")
    if not indices.shape[1]:
        return (0,) * indices.shape[0] + values.shape[1:]
    return tuple(int(row.max()) + 1 for row in indices) + values.shape[1:]


def _checked(shape: tuple[int, ...], indices: Any, values: Any) -> tuple[int, ...]:
    if len(shape) != indices.shape[0] + values.ndim - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {indices.shape[0]}, "
            f"dense_dim = {values.ndim - 1}"
        )
    if shape[indices.shape[0] :] != values.shape[1:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[values.shape[0], *shape[indices.shape[0] :]]}, got {list(values.shape)}"
        )
    for dim, (row, length) in enumerate(zip(indices, shape)):
        if row.size and (int(row.min()) < 0 or int(row.max()) >= length):
            if int(row.min()) < 0:
                raise RuntimeError(f"found negative index {int(row.min())} for dim {dim}")
            bad = int(row.max())
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {bad}"
            )
    return shape


def _need_sparse(tensor: Tensor, name: str) -> SparseArray:
    if not tensor.is_sparse:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got Strided")
    return tensor._array


def _need_coalesced(tensor: Tensor, name: str) -> SparseArray:
    found = _need_sparse(tensor, name)
    if not found.is_coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return found


@method
def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced sparse tensor, int64 (sparse dimensions, count); RuntimeError if it is not
    coalesced.
    """
    return wrap(_need_coalesced(self, "indices").indices)


@method
def values(self: Tensor) -> Tensor:
    """The values of a coalesced sparse tensor; differentiable. RuntimeError if it is not coalesced."""
    return values_op(self, places=_need_coalesced(self, "values").frozen())


@method
def _indices(self: Tensor) -> Tensor:
    """The indices of a sparse tensor, which need not be coalesced."""
    return wrap(_need_sparse(self, "_indices").indices)


@method
def _values(self: Tensor) -> Tensor:
    """The values of a sparse tensor, which need not be coalesced; not differentiable."""
    return wrap(_need_sparse(self, "_values").values)


@method
def _nnz(self: Tensor) -> int:
    """The number of stored values."""
    return _need_sparse(self, "_nnz").nnz


@method
def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions, which the indices address; 0 for dense tensors."""
    return self._array.sparse_dim if self.is_sparse else 0


@method
def dense_dim(self: Tensor) -> int:
    """The number of dense dimensions, those of each stored value."""
    return self._array.dense_dim if self.is_sparse else self.ndim


@method
def is_coalesced(self: Tensor) -> bool:
    """Whether the indices are unique and sorted."""
    return _need_sparse(self, "is_coalesced").is_coalesced


@method
def coalesce(self: Tensor) -> Tensor:
    """A copy with unique, sorted indices, in which the values of repeated indices are added up; itself if it is
    coalesced.
    """
    return self if _need_sparse(self, "coalesce").is_coalesced else coalesce_op(self)


@method
def to_dense(self: Tensor, dtype: dtype | None = None, *, masked_grad: bool = True) -> Tensor:
    """A dense tensor of the same elements. `dtype`: convert to this type. The gradient has only the stored elements;
    `masked_grad` is ignored.
    """
    found = to_dense_op(self, places=self._array.frozen()) if self.is_sparse else self
    return found if dtype is None else found.to(dtype)


@method
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Tensor:
    """A sparse tensor of the elements that are not zero. `sparse_dim`: how many leading dimensions become sparse, by
    default all.
    """
    if self.is_sparse:
        return self
    count = self.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= self.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but {count} is given"
        )
    if not count and self.ndim:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    return (to_sparse_op if sparse_dim is None else to_sparse_dim_op)(self, sparse_dim=count)


@method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of this tensor at the indices of the sparse tensor `mask`, as a sparse tensor."""
    if not mask.is_sparse:
        refuse_sparse("sparse_mask with a dense mask", mask)
    places = mask._array.frozen()
    if self._array.shape != places.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    return sparse_mask_op(self, like=places, dense=not self.is_sparse)
