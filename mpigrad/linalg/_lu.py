"""LU factorizations, and linear equations solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import return_types
from .._array.device import array_module
from .._core.tensor import wrap
from .._ops._define.arguments import need_tensors
from .._ops._define.guarded import guarded
from .._ops._define.operator import check_one_device
from .._ops.linalg.lu import LU, LU_FACTOR, LU_SOLVE, LU_UNPACK
from .._ops.reduce.statistics import rising_vander as vander
from .._tensor import Tensor, method
from ._checking import check_matrix, check_same_type


def _check_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _factored(name: str, A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Any]:
    need_tensors(name, A=A)
    if A.ndim < 2:
        raise RuntimeError(
            f"mpigrad.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
        )
    check_matrix(name, A)
    _check_pivoting(pivot)
    lu, pivots = LU_FACTOR(A)
    xp = array_module(lu._array)
    zero = xp.diagonal(lu._array, axis1=-2, axis2=-1) == 0
    first = zero.argmax(axis=-1) + 1 if zero.shape[-1] else xp.zeros(zero.shape[:-1], np.int32)
    return lu, pivots, xp.asarray(xp.where(zero.any(axis=-1), first, 0).astype(np.int32))


def _raise_zero(A: Tensor, info: Any) -> None:
    flat = info.reshape(-1)
    place = int(np.flatnonzero(np.asarray(flat.tolist()))[0])
    which = f"(Batch element {place}): " if A.ndim > 2 else ""
    number = int(flat[place])
    raise RuntimeError(
        f"mpigrad.linalg.lu_factor: {which}U[{number},{number}] is zero and using it on lu_solve would result in a division "
        "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


@guarded
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The LU factorization of matrices with row exchanges: the named tuple (LU, pivots), for `lu_solve`.

    LU has U in its upper triangle and L, without its ones, below; pivots[i] (from 1) is the row with which row i was
    exchanged. `pivot=False` (without exchanges) is not supported on the CPU. `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.lu_factor(mpigrad.tensor([[1.0, 2.0], [2.0, 2.0]])).LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    lu, pivots, info = _factored("linalg.lu_factor", A, pivot)
    if info.any():
        _raise_zero(A, info)
    return return_types.linalg_lu_factor(lu, pivots)


@guarded
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """The named tuple (LU, pivots, info): the result of `lu_factor`, and for each matrix 0 or the number of the first
    zero on the diagonal of U.

    `check_errors`: raise a LinAlgError in that case. `out` is ignored. `pivot` must be True.

    >>> import mpigrad
    >>> mpigrad.linalg.lu_factor_ex(mpigrad.zeros(2, 2)).info
    tensor(1, dtype=mpigrad.int32)
    """
    lu, pivots, info = _factored("linalg.lu_factor_ex", A, pivot)
    if check_errors and info.any():
        _raise_zero(A, info)
    return return_types.linalg_lu_factor_ex(lu, pivots, wrap(info))


@guarded
def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The named tuple (P, L, U) with A = P L U: a permutation, a lower triangular matrix with ones on its diagonal,
    an upper triangular one.

    `pivot` must be True. `out` is ignored.

    >>> import mpigrad
    >>> P, L, U = mpigrad.linalg.lu(mpigrad.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    need_tensors("linalg.lu", A=A)
    check_matrix("linalg.lu", A)
    _check_pivoting(pivot)
    p, lower, upper = LU(A)
    return return_types.linalg_lu(p.detach(), lower, upper)


@guarded
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution X of A X = B, given the results `LU` and `pivots` of `lu_factor(A)`.

    `left=False` solves X A = B; `adjoint` solves with the conjugate transpose of A. `out`: a tensor to which the result is
    written.

    >>> import mpigrad
    >>> factors = mpigrad.linalg.lu_factor(mpigrad.tensor([[0.0, 2.0], [4.0, 0.0]]))
    >>> mpigrad.linalg.lu_solve(*factors, mpigrad.ones(2, 1))
    tensor([[0.2500],
            [0.5000]])
    """
    from .._ops._define.out import deliver

    name = "linalg.lu_solve"
    need_tensors(name, LU=LU, pivots=pivots, B=B)
    check_matrix(name, LU, square=True)
    check_matrix(name, B, argument="B")
    check_same_type(name, LU, B)
    check_one_device(name, (LU._array, pivots._array, B._array))
    if B.shape[-2 if left else -1] != LU.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return deliver(LU_SOLVE(LU, pivots, B, left=left, adjoint=adjoint), out)


@guarded
def old_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Deprecated form of `linalg.lu_solve(LU_data, LU_pivots, b)`."""
    return lu_solve(LU_data, LU_pivots, b, out=out)


@guarded
def old_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Deprecated form of `linalg.lu_factor`: returns (LU, pivots), with `get_infos` (LU, pivots, infos)."""
    found, pivots, info = _factored("lu", A, pivot)
    return (found, pivots, wrap(info)) if get_infos else (found, pivots)


@guarded
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """The named tuple (P, L, U), from the results of `linalg.lu_factor`.

    `unpack_data=False` and `unpack_pivots=False` leave out L and U, or P: they are empty.

    >>> import mpigrad
    >>> mpigrad.lu_unpack(*mpigrad.linalg.lu_factor(mpigrad.tensor([[0.0, 2.0], [4.0, 0.0]]))).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    need_tensors("lu_unpack", LU_data=LU_data, LU_pivots=LU_pivots)
    if unpack_pivots and LU_pivots._array.dtype != np.int32:
        raise RuntimeError(
            "mpigrad.lu_unpack: LU_pivots is expected to be a contiguous tensor of mpigrad.int32 dtype.\nNote: this "
            "function is intended to be used with the output produced by mpigrad.linalg.lu_factor"
        )
    p, lower, upper = LU_UNPACK(LU_data, LU_pivots)
    none = wrap(array_module(LU_data._array).empty(0, LU_data._array.dtype))
    return return_types.lu_unpack(
        p.detach() if unpack_pivots else none, lower if unpack_data else none, upper if unpack_data else none
    )


def _lu_solve_method(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    return old_lu_solve(self, LU_data, LU_pivots)


method(old_lu, "lu")
method(_lu_solve_method, "lu_solve")

__all__ = ["lu", "lu_factor", "lu_factor_ex", "lu_solve", "vander"]
