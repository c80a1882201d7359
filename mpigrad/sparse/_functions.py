"""What `mpigrad.sparse` offers."""

from __future__ import annotations

from typing import Any

from .._device import array_module
from .._dtype import as_dtype, dtype
from .._ops._dims import wrap_dims
from .._ops.sparse_arithmetic import sparse_mm, sum_dims
from .._ops.sparse_forms import sparse_like, values_op
from .._tensor import Tensor, wrap


def sum(input: Tensor, dim: int | tuple[int, ...] | list[int] | None = None, dtype: dtype | None = None) -> Tensor:
    """The sum of all elements, or over dimensions; the gradient is sparse, with the places of `input`.

    >>> import mpigrad
    >>> x = mpigrad.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
    >>> mpigrad.sparse.sum(x)
    tensor(3.)
    """
    if not input.is_sparse:
        raise RuntimeError("sparse.sum expects a sparse tensor; use mpigrad.sum for dense ones")
    x = input if dtype is None else input.to(as_dtype(dtype))
    if dim is None:
        found = x.coalesce()
        return values_op(found, places=found._array).sum()
    dims = wrap_dims(dim, x._array.ndim)
    return sum_dims(x, dim=tuple(dims or ()), places=x._array)


def mm(sparse: Tensor, dense: Tensor) -> Tensor:
    """A sparse matrix times a dense one: dense, with a sparse gradient for the sparse factor.

    >>> import mpigrad
    >>> a = mpigrad.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> mpigrad.sparse.mm(a, mpigrad.eye(2))
    tensor([[0., 2.],
            [0., 0.]])
    """
    if not sparse.is_sparse:
        raise RuntimeError("sparse.mm expects a sparse matrix first; use mpigrad.mm for dense ones")
    if dense.is_sparse:
        return sparse_mm(sparse, dense.to_dense()).to_sparse()
    return sparse_mm(sparse, dense)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)` with a sparse `mat1`."""
    product = mm(mat1, mat2)
    return mat * beta + (product if alpha == 1 else product * alpha)


def _groups(input: Tensor, dim: int) -> tuple[Tensor, Any, Any, int]:
    """The coalesced tensor, its values' groups (places that differ in `dim` only), and how many groups there are."""
    found = input.coalesce()
    array = found._array
    at = dim + array.ndim if dim < 0 else dim
    if not 0 <= at < array.sparse_dim:
        raise RuntimeError(f"softmax over dimension {dim} of a sparse tensor: only its {array.sparse_dim} sparse dimensions can be used")
    xp = array_module(array.values)
    others = [d for d in range(array.sparse_dim) if d != at]
    flat = xp.zeros(array.nnz, "i8")
    for d in others:
        flat = flat * array.shape[d] + array.indices[d]
    kept, group = xp.unique(flat, return_inverse=True)
    return found, array, group, int(kept.shape[0])


def _softmax(input: Tensor, dim: int, dtype: dtype | None, logarithm: bool) -> Tensor:
    x = input if dtype is None else input.to(as_dtype(dtype))
    found, array, group, count = _groups(x, dim)
    values = values_op(found, places=array)
    xp = array_module(array.values)
    top = xp.full((count, *array.values.shape[1:]), -xp.inf, array.dtype)
    xp.maximum.at(top, group, array.values)
    shifted = values - wrap(top[group])
    index = wrap(group)
    totals = shifted.exp().new_zeros((count, *array.values.shape[1:])).index_add(0, index, shifted.exp())
    logs = shifted - totals.log().index_select(0, index)
    return sparse_like(logs if logarithm else logs.exp(), like=array)


def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Softmax along a sparse dimension; places that are not held count as minus infinity."""
    return _softmax(input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax`, computed safely."""
    return _softmax(input, dim, dtype, True)
