"""Between sparse and dense: making sparse tensors, their indices and values, coalescing, converting, masking.

Gradients keep the layout that PyTorch gives them: that of values is dense, that of what was sparse is sparse with the same places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module, move, resolve
from .._dtype import as_dtype, dtype, int64
from .._graph.namespace import add_to_both
from .._sparse_array.array import SparseArray, dense_at
from .._tensor import Tensor, method, wrap
from ._define import operator
from .create import tensor as make_tensor

__all__ = ["sparse_coo_tensor"]


def is_sparse_array(x: Any) -> bool:
    """Whether an array is sparse."""
    return x.__class__ is SparseArray


# -- places as an argument: `like` is a SparseArray that says where; it is never differentiated ----------------------------
def _values_like(g: Any, *, like: SparseArray) -> Any:
    """The elements of a gradient, sparse or dense, at the places of `like`."""
    return g.values_at(like.indices) if is_sparse_array(g) else dense_at(g, like)


def _sparse_like(v: Any, *, like: SparseArray) -> SparseArray:
    """Values at the places of `like`."""
    return like.with_values(v)


values_like = operator("values_like", _values_like, lambda F, node, h: F.sparse_like(h, like=node.kw["like"]), node="SparseMaskBackward0")
sparse_like = operator(
    "sparse_like", _sparse_like, lambda F, node, g: F.values_like(g, like=node.kw["like"]),
    node="SparseCooTensorWithDimsAndTensorsBackward0",
)  # fmt: skip
values_like.sparse = lambda op, inputs, kw: op.finish(inputs, op.forward(inputs[0]._array, **kw), kw)


def _mask_raw(g: Any, *, like: SparseArray) -> SparseArray:
    return like.with_values(_values_like(g, like=like))


def _mask_recorded(g: Tensor, *, like: SparseArray) -> Tensor:
    return sparse_like(values_like(g, like=like), like=like)


add_to_both("mask_like", _mask_raw, _mask_recorded)


def _like(node: Any) -> SparseArray:
    return node.kw["places"]


values_op = operator(
    "sparse_values", lambda x, *, places: x.values, lambda F, node, g: F.sparse_like(g, like=_like(node)), node="ValuesBackward0"
)
coalesce_op = operator("coalesce", lambda x: x.coalesce(), lambda F, node, g: g, node="CoalesceBackward0")
to_dense_op = operator(
    "to_dense", lambda x, *, places: x.to_dense(), lambda F, node, g: F.mask_like(g, like=_like(node)), node="ToDenseBackward0"
)


def _dense_gradient(g: Any) -> Any:
    return g.to_dense() if is_sparse_array(g) else g


def _dense_gradient_recorded(g: Tensor) -> Tensor:
    return g.to_dense() if g.is_sparse else g


add_to_both("dense_gradient", _dense_gradient, _dense_gradient_recorded)


def _to_sparse(x: Any, *, sparse_dim: int) -> SparseArray:
    xp = array_module(x)
    held = (x != 0).any(axis=tuple(range(sparse_dim, x.ndim))) if sparse_dim < x.ndim else x != 0
    places = xp.nonzero(held)
    return SparseArray(xp.stack(places).astype(np.int64), x[places], x.shape, True)


to_sparse_op = operator("to_sparse", _to_sparse, lambda F, node, g: F.dense_gradient(g), node="ToSparseBackward1")
for _each in (values_op, coalesce_op, to_dense_op):
    _each.sparse = lambda op, inputs, kw: op.finish(inputs, op.forward(inputs[0]._array, **kw), kw)


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
    """A sparse tensor with `values` at `indices`; indices that repeat stand for sums.

    >>> import mpigrad
    >>> mpigrad.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if indices is None:
        return _empty(size, dtype, device, requires_grad)
    if isinstance(size, (dict,)) or values is None:
        raise TypeError("sparse_coo_tensor() takes indices, values and size")
    given = values if isinstance(values, Tensor) else make_tensor(values, dtype=dtype)
    if dtype is not None:
        given = given.to(as_dtype(dtype))
    if device is not None:
        given = given.to(device)
    elif isinstance(values, Tensor) is False and isinstance(indices, Tensor):
        given = given.to(indices.device)
    where = indices._array if isinstance(indices, Tensor) else make_tensor(indices, dtype=int64)._array
    where = move(where.astype(np.int64, copy=False), given.device)
    if where.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(where.shape)}")
    value = given._array
    if value.ndim == 0:
        raise RuntimeError(f"values must have one value per index, but got a value of no dimension for {where.shape[1]} indices")
    if where.shape[1] != value.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {where.shape[1]}, nnz from values: {value.shape[0]}"
        )
    shape = _infer(where, value) if size is None else _checked(tuple(size), where, value)
    like = SparseArray(where, value, shape, bool(is_coalesced))
    made = sparse_like(given, like=like) if given._requires else wrap(like)
    if requires_grad and not made._requires:
        made.requires_grad_()
    return made


def _empty(size: Any, kind: dtype | None, place: Any, requires_grad: bool) -> Tensor:
    if size is None:
        raise TypeError("sparse_coo_tensor() needs indices and values, or a size")
    values = make_tensor([], dtype=kind).to(resolve(place))._array
    xp = array_module(values)
    made = wrap(SparseArray(xp.zeros((len(tuple(size)), 0), np.int64), values, tuple(size), True))
    return made.requires_grad_() if requires_grad else made


def _infer(indices: Any, values: Any) -> tuple[int, ...]:
    if indices.size and int(indices.min()) < 0:
        raise RuntimeError(f"found negative index {int(indices.min())}")
    if not indices.shape[1]:
        return (0,) * indices.shape[0] + values.shape[1:]
    return tuple(int(row.max()) + 1 for row in indices) + values.shape[1:]


def _checked(shape: tuple[int, ...], indices: Any, values: Any) -> tuple[int, ...]:
    if len(shape) != indices.shape[0] + values.ndim - 1:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({indices.shape[0]}) + dense_dim ({values.ndim - 1}), but got {len(shape)}"
        )
    if shape[indices.shape[0] :] != values.shape[1:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[values.shape[0], *shape[indices.shape[0]:]]}, got {list(values.shape)}"
        )
    for dim, (row, length) in enumerate(zip(indices, shape)):
        if row.size and (int(row.min()) < 0 or int(row.max()) >= length):
            bad = int(row.max()) if int(row.max()) >= length else int(row.min())
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {bad}")
    return shape


def _need_sparse(tensor: Tensor, name: str) -> SparseArray:
    if not tensor.is_sparse:
        raise RuntimeError(f"{name} expected sparse tensor layout but got Strided")
    return tensor._array


def _need_coalesced(tensor: Tensor, name: str) -> SparseArray:
    found = _need_sparse(tensor, name)
    if not found.is_coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return found


@method
def indices(self: Tensor) -> Tensor:
    """The places of a coalesced sparse tensor, one column each."""
    return wrap(_need_coalesced(self, "indices").indices)


@method
def values(self: Tensor) -> Tensor:
    """The values of a coalesced sparse tensor; differentiable."""
    return values_op(self, places=_need_coalesced(self, "values"))


@method
def _indices(self: Tensor) -> Tensor:
    """The places, coalesced or not."""
    return wrap(_need_sparse(self, "_indices").indices)


@method
def _values(self: Tensor) -> Tensor:
    """The values, coalesced or not; not differentiable."""
    return wrap(_need_sparse(self, "_values").values)


@method
def _nnz(self: Tensor) -> int:
    """How many values are held."""
    return _need_sparse(self, "_nnz").nnz


@method
def sparse_dim(self: Tensor) -> int:
    """How many dimensions the indices name; 0 for dense tensors."""
    return self._array.sparse_dim if self.is_sparse else 0


@method
def dense_dim(self: Tensor) -> int:
    """How many dimensions each value has."""
    return self._array.dense_dim if self.is_sparse else self.ndim


@method
def is_coalesced(self: Tensor) -> bool:
    """Whether each place occurs once, in order."""
    return _need_sparse(self, "is_coalesced").is_coalesced


@method
def coalesce(self: Tensor) -> Tensor:
    """The same with each place once, in order; itself if it is so already."""
    return self if _need_sparse(self, "coalesce").is_coalesced else coalesce_op(self)


@method
def to_dense(self: Tensor, dtype: dtype | None = None, *, masked_grad: bool = True) -> Tensor:
    """A dense tensor of the same elements."""
    found = to_dense_op(self, places=self._array) if self.is_sparse else self
    return found if dtype is None else found.to(dtype)


@method
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> Tensor:
    """A sparse tensor of the elements that are not zero; `sparse_dim` leading dimensions become sparse."""
    if self.is_sparse:
        return self
    count = self.ndim if sparse_dim is None else sparse_dim
    if not 0 < count <= max(self.ndim, 1):
        raise RuntimeError(f"sparse_dim argument for to_sparse must be in [1, {self.ndim}], got {count}")
    return to_sparse_op(self, sparse_dim=count)


@method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse `mask`, as a sparse tensor."""
    places = _need_sparse(mask, "sparse_mask")
    return _mask_recorded(self, like=places.with_values(places.values))
