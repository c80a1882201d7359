"""The functions of `mpigrad.sparse`."""

from __future__ import annotations

from .._array.dtype import as_dtype, dtype
from .._ops._define.dims import wrap_dim, wrap_dims
from .._ops.linalg.addmm import addmm as dense_addmm
from .._ops.linalg.addmm import check_addmm
from .._ops.linalg.matmul import mm as dense_mm
from .._ops.sparse.arithmetic import sparse_addmm, sum_dims
from .._ops.sparse.forms import values_op
from .._ops.sparse.softmax import sparse_softmax
from .._tensor import Tensor


def sum(input: Tensor, dim: int | tuple[int, ...] | list[int] | None = None, dtype: dtype | None = None) -> Tensor:
    """The sum of the elements of a sparse tensor: of all, as a dense tensor with one number, or over `dim`, as a sparse tensor.

    The gradient is sparse, with the indices of `input`.

    `dim`: a dimension or several. `dtype`: convert to this type first.

    >>> import mpigrad
    >>> x = mpigrad.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,))
    >>> mpigrad.sparse.sum(x)
    tensor(3.)
    """
    if not input.is_sparse:
        raise RuntimeError("sparse.sum expected sparse coordinate tensor layout but got Strided; use mpigrad.sum instead")
    x = input if dtype is None else input.to(as_dtype(dtype))
    if dim is None:
        found = x.coalesce()
        return values_op(found, places=found._array.frozen()).sum()
    dims = wrap_dims(dim, x._array.ndim)
    return sum_dims(x, dim=tuple(dims or ()), places=x._array.frozen())


def mm(sparse: Tensor, dense: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, as a dense matrix. The gradient of the sparse factor is sparse.

    >>> import mpigrad
    >>> a = mpigrad.sparse_coo_tensor([[0], [1]], [2.0], (2, 2))
    >>> mpigrad.sparse.mm(a, mpigrad.eye(2))
    tensor([[0., 2.],
            [0., 0.]])
    """
    if not sparse.is_sparse:
        return dense_mm(sparse, dense)
    if dense.is_sparse:
        return sparse_addmm(None, sparse, dense.to_dense()).to_sparse()
    return sparse_addmm(None, sparse, dense)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)` with a sparse matrix `mat1` and dense `mat` and `mat2`; the result is
    dense.
    """
    if not mat1.is_sparse or mat2.is_sparse:
        return dense_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    check_addmm(mat._array, mat1._array, mat2._array)
    return sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def _softmax(input: Tensor, dim: int, kind: dtype | None, logarithm: bool) -> Tensor:
    if not input.is_sparse:
        raise RuntimeError("sparse.softmax expects a sparse tensor; use mpigrad.softmax for dense ones")
    x = input if kind is None else input.to(as_dtype(kind))
    return sparse_softmax(x, wrap_dim(dim, x._array.ndim), logarithm)


def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Softmax along `dim` of a sparse tensor; elements that are not stored count as minus infinity. The result is
    sparse. `dtype`: convert the input to this type first (default: keep its type).
    """
    return _softmax(input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax` along `dim` of a sparse tensor, computed without overflow. `dtype`: convert the
    input to this type first (default: keep its type).
    """
    return _softmax(input, dim, dtype, True)
