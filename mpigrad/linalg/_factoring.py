"""Factorizations: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from .._array.device import array_module
from .._core.tensor import wrap
from .._ops._define.guarded import guarded
from .._ops._define.out import deliver
from .._ops.linalg import factorizations
from .._tensor import Tensor, method
from ._checking import check_matrix, indefinite_infos, raise_indefinite


@guarded
def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with A = L L^H of positive definite matrices; with `upper`, the upper triangular U with
    A = U^H U.

    Only one triangle of `A` (..., n, n) is read. Raises a LinAlgError if a matrix is not positive definite. `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.cholesky(mpigrad.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    check_matrix("linalg.cholesky", A, square=True)
    return deliver(_factor("linalg.cholesky", A, upper), out)


def _factor(name: str, A: Tensor, upper: bool, operator: Any = factorizations.cholesky) -> Tensor:
    try:
        lower = operator(A)
    except np.linalg.LinAlgError:
        raise_indefinite(name, A._array)
    return lower.mH if upper else lower


@guarded
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """The named tuple (L, info): the result of `cholesky`, and for each matrix 0, or the order of the leading minor
    that is not positive definite.

    `check_errors`: raise a LinAlgError in that case. `out` is ignored. `upper` is that of `cholesky`.

    >>> import mpigrad
    >>> mpigrad.linalg.cholesky_ex(-mpigrad.eye(2)).info
    tensor(1, dtype=mpigrad.int32)
    """
    check_matrix("linalg.cholesky_ex", A, square=True)
    found = indefinite_infos(A._array)
    if not found.any():
        return return_types.linalg_cholesky_ex(_factor("linalg.cholesky_ex", A, upper), wrap(found))
    if check_errors:
        raise_indefinite("linalg.cholesky_ex", A._array, found)
    return return_types.linalg_cholesky_ex(wrap(array_module(A._array).full_like(A._array, np.nan)), wrap(found))


@guarded
def old_cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Deprecated name of `linalg.cholesky`, with the same arguments.

    >>> import mpigrad
    >>> mpigrad.cholesky(mpigrad.tensor([[4.0]]))
    tensor([[2.]])
    """
    check_matrix("cholesky", input, square=True)
    return deliver(_factor("cholesky", input, upper, factorizations.old_cholesky), out)


@guarded
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """The named tuple (Q, R) with A = Q R: Q has orthonormal columns, R is upper triangular.

    `mode` for A (m, n) with k = min(m, n): "reduced" (default; Q is (m, k), R (k, n)), "complete" (Q is (m, m), R (m, n))
    or "r" (Q is empty). `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.qr(mpigrad.ones(3, 2)).R.shape
    mpigrad.Size([2, 2])
    """
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "r", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if mode == "r":
        if A.requires_grad:
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                "mpigrad.linalg.qr(A, mode='reduced') if you are going to require gradients."
            )
        xp = array_module(A._array)
        return return_types.linalg_qr(wrap(xp.empty(0, A._array.dtype)), wrap(xp.linalg.qr(A._array, mode="r")))
    return return_types.linalg_qr(*factorizations.qr(A, mode=mode))


@guarded
def old_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Deprecated form of `linalg.qr`: returns (Q, R). `some=True` (default) is `mode="reduced"`, False is "complete".

    >>> import mpigrad
    >>> mpigrad.qr(mpigrad.ones(3, 2)).Q.shape
    mpigrad.Size([3, 2])
    """
    return return_types.qr(*qr(input, "reduced" if some else "complete"))


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """The singular value decomposition, the named tuple (U, S, Vh) with A = U diag(S) Vh; S is in descending order.

    `full_matrices` (default): U and Vh are square; False: only the columns and rows that belong to S. `driver` has no
    effect. `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.svd(mpigrad.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    check_matrix("linalg.svd", A)
    return return_types.linalg_svd(*factorizations.svd(A, full_matrices=full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices, in descending order. `driver` has no effect.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.svdvals(mpigrad.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    check_matrix("linalg.svdvals", A)
    return deliver(factorizations.svd(A, full_matrices=False)[1], out)


@guarded
def old_svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """Deprecated form of `linalg.svd`: returns (U, S, V) with A = U diag(S) V^H.

    `some=True` (default) is `full_matrices=False`; `compute_uv=False` gives zeros for U and V.

    >>> import mpigrad
    >>> mpigrad.svd(mpigrad.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    u, s, vh = svd(input, full_matrices=not some)
    if not compute_uv:
        xp = array_module(input._array)
        u, vh = wrap(xp.zeros_like(u._array)), wrap(xp.zeros_like(vh._array))
    return return_types.svd(u, s, vh.mH)


def _check_uplo(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """The named tuple (eigenvalues, eigenvectors) of symmetric (or Hermitian) matrices: real values in ascending
    order, vectors as columns.

    `UPLO`: the triangle of `A` that is read, "L" or "U". `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.eigh(mpigrad.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    check_matrix("linalg.eigh", A, square=True)
    return return_types.linalg_eigh(*factorizations.eigh(A, lower=_check_uplo(UPLO)))


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of symmetric (or Hermitian) matrices, in ascending order. `UPLO`: the triangle that is read,
    "L" or "U".

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.eigvalsh(mpigrad.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    check_matrix("linalg.eigvalsh", A, square=True)
    return deliver(factorizations.eigh(A, lower=_check_uplo(UPLO))[0], out)


def eig(A: Tensor, *, out: Any = None) -> Any:
    """The named tuple (eigenvalues, eigenvectors) of square matrices, both complex; vectors are columns, in no
    particular order.

    `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.eig(mpigrad.eye(2)).eigenvalues.real
    tensor([1., 1.])
    """
    check_matrix("linalg.eig", A, square=True)
    return return_types.linalg_eig(*factorizations.eig(A))


def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex eigenvalues of square matrices, in no particular order.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.eigvals(mpigrad.eye(2)).real
    tensor([1., 1.])
    """
    check_matrix("linalg.eigvals", A, square=True)
    return deliver(factorizations.eig(A)[0], out)


for _name, _fn in (("cholesky", old_cholesky), ("qr", old_qr), ("svd", old_svd)):
    method(_fn, _name)
