"""Norms of vectors and matrices, rank, condition number, and small products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.tensor import wrap
from .._ops._define.guarded import guarded
from .._ops._define.out import deliver
from .._ops.linalg.contractions import cross as _cross
from .._ops.linalg.matmul import vdot
from .._ops.reduce.norms import vector_norm
from .._tensor import Tensor
from ._checking import check_matrix
from ._factoring import eigvalsh, svdvals
from ._solving import inv


def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None, dtype: Any = None
) -> Tensor:
    """A vector norm of all elements or along `dim`; a matrix norm if `ord` is given and the dimensions are two.

    `ord` is that of `vector_norm` (default: 2) or `matrix_norm`. `keepdim`: keep the dimensions with length 1. `dtype`:
    convert to this type first. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.norm(mpigrad.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims: tuple[Any, ...] | None
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    elif ord is not None and A.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    else:
        dims = None if ord is None else tuple(range(A.dim()))
    if ord is not None and dims is not None and len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
    return vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype, out=out)


def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of matrices in the two dimensions `dim`.

    `ord`: "fro" (default; root of the sum of squares), "nuc" (sum of singular values), 2 or -2 (largest or smallest
    singular value), 1 or -1 (largest or smallest sum of |x| over a column), inf or -inf (over a row). `keepdim`: keep the
    dimensions with length 1. `dtype`: convert to this type first. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.matrix_norm(mpigrad.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    check_matrix("linalg.matrix_norm", A)
    if dtype is not None:
        A = A.to(dtype)
    n = A.dim()
    row, column = (each % n for each in dim)
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord in ("fro", "f"):
        return deliver(vector_norm(A, 2, (row, column), keepdim), out)
    if ord in ("nuc", 2, -2, 2.0, -2.0):
        return deliver(_by_singular_values(A, ord, row, column, keepdim), out)
    if ord in (1, -1, math.inf, -math.inf):
        along, then = (row, column) if abs(ord) == 1 else (column, row)
        sums = vector_norm(A, 1, along, keepdim)
        last = then if keepdim or then < along else then - 1
        return deliver(sums.amax(last, keepdim=keepdim) if ord > 0 else sums.amin(last, keepdim=keepdim), out)
    raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")


def _by_singular_values(A: Tensor, ord: Any, row: int, column: int, keepdim: bool) -> Tensor:
    others = [i for i in range(A.dim()) if i not in (row, column)]
    values = svdvals(A.permute([*others, row, column]))
    found = values.sum(-1) if ord == "nuc" else values.amax(-1) if ord > 0 else values.amin(-1)
    if keepdim:
        for each in sorted((row, column)):
            found = found.unsqueeze(each)
    return found


def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number of matrices: by default the ratio of the largest to the smallest singular value.

    `p`: another norm, as `ord` of `matrix_norm`; the number is then norm(A) * norm(A^-1). `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.cond(mpigrad.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """
    check_matrix("linalg.cond", A)
    if p is None or p in (2, -2):
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return deliver(last / first if p == -2 else first / last, out)
    return deliver(matrix_norm(A, p) * matrix_norm(inv(A), p), out)


@guarded
def matrix_rank(
    A: Tensor,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    hermitian: bool = False,
    out: Tensor | None = None,
    tol: float | None = None,
) -> Tensor:
    """The rank of matrices: the number of singular values that are larger than max(atol, rtol * largest one).

    If neither is given, `rtol` is the larger side of the matrix times the precision of its type. `hermitian`: use
    eigenvalues. `tol` is an older name of `atol`. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.matrix_rank(mpigrad.ones(3, 3))
    tensor(1)
    """
    check_matrix("linalg.matrix_rank", A, square=hermitian)
    plain = A.detach()
    values = abs(eigvalsh(plain)._array) if hermitian else svdvals(plain)._array
    least = tol if tol is not None else atol
    eps = max(A._array.shape[-2:]) * float(np.finfo(values.dtype).eps)
    share = (eps if least is None else 0.0) if rtol is None else rtol
    top = values.max(axis=-1, keepdims=True) if values.shape[-1] else values
    return deliver(wrap(np.asarray((values > np.maximum(least or 0.0, share * top)).sum(axis=-1))), out)


def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The vector product along `dim`, which has length 3.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.cross(mpigrad.tensor([1.0, 0.0, 0.0]), mpigrad.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    return _cross(input, other, dim, out=out)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products of vectors along `dim`, with the first factor conjugated.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.vecdot(mpigrad.ones(2, 3), mpigrad.ones(2, 3))
    tensor([3., 3.])
    """
    if x._array.ndim == 1 and y._array.ndim == 1:
        return vdot(x, y, out=out)
    return deliver((x.conj() * y).sum(dim), out)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices in the dimensions `dim1` and `dim2`, as a view. `offset`: above (positive) or below
    the main one.

    >>> import mpigrad
    >>> mpigrad.linalg.diagonal(mpigrad.eye(2))
    tensor([1., 1.])
    """
    return A.diagonal(offset, dim1, dim2)
