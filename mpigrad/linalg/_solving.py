"""Inverses, linear equations, determinants and powers of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import return_types
from .._array.device import array_module
from .._core.tensor import wrap
from .._ops._define.arguments import need_tensors
from .._ops._define.binary import check_shapes
from .._ops._define.guarded import guarded
from .._ops._define.out import deliver
from .._ops.linalg import inverses
from .._ops.linalg.contractions import multiply_chain
from .._ops.linalg.matmul import matmul
from .._tensor import Tensor, method
from ._checking import LinAlgError as LinAlgError
from ._checking import check_matrix, check_same_type, raise_singular, singular_infos


def _regular(name: str, a: Any, compute: Callable[[], Any]) -> Any:
    """Return `compute()`; raise PyTorch's error for the function `name` if a matrix of `a` is singular."""
    try:
        return compute()
    except np.linalg.LinAlgError:
        raise_singular(name, a)


@guarded
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices; a LinAlgError if one is singular.

    >>> import mpigrad
    >>> mpigrad.linalg.inv(mpigrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_matrix("linalg.inv", A, square=True)
    return deliver(_regular("linalg.inv", A._array, lambda: inverses.inverse(A)), out)


@guarded
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """The named tuple (inverse, info): info is, for each matrix, 0 or the number (from 1) of its first zero pivot.

    `check_errors`: raise a LinAlgError for singular matrices. `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.inv_ex(mpigrad.eye(2)).info
    tensor(0, dtype=mpigrad.int32)
    """
    check_matrix("linalg.inv_ex", A, square=True)
    found = singular_infos(A._array)
    if found.any():
        if check_errors:
            raise_singular("linalg.inv_ex", A._array, found)
        return return_types.linalg_inv_ex(wrap(array_module(A._array).full_like(A._array, np.nan)), wrap(found))
    return return_types.linalg_inv_ex(inverses.inverse(A), wrap(found))


def _is_vector(a: Any, b: Any) -> bool:
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


@guarded
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution X of A X = B for square matrices A (..., n, n); with `left=False`, of X A = B.

    `B` is (..., n, k), or a vector (n,) or batch of vectors (..., n). Raises a LinAlgError if a matrix is singular. `out`:
    a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.solve(mpigrad.tensor([[2.0, 0.0], [0.0, 4.0]]), mpigrad.ones(2))
    tensor([0.5000, 0.2500])
    """
    name = "linalg.solve"
    check_matrix(name, A, square=True)
    need_tensors(name, A=A, B=B)
    check_same_type(name, A, B)
    a, b = A._array, B._array
    vector = _is_vector(a, b)
    if not left:
        if vector:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False."
            )
        return deliver(solve(A.mT, B.mT).mT, out)
    if vector:
        if b.shape[-1] != a.shape[-1]:
            _refuse_shapes(name, a, b, "AX")
        return deliver(_solved(A, lambda: inverses.solve_vector(A, B)), out)
    if b.shape[-2] != a.shape[-1]:
        _refuse_shapes(name, a, b, "AX")
    if a.shape[:-2] != b.shape[:-2]:
        check_shapes(np.broadcast_to(False, a.shape[:-2]), np.broadcast_to(False, b.shape[:-2]))
    return deliver(_solved(A, lambda: inverses.solve_matrix(A, B)), out)


def _solved(A: Tensor, compute: Callable[[], Tensor]) -> Tensor:
    try:
        return compute()
    except np.linalg.LinAlgError:
        raise LinAlgError("mpigrad.linalg.solve: The solver failed because the input matrix is singular.") from None


def _refuse_shapes(name: str, a: Any, b: Any, side: str) -> None:
    given = "x".join(map(str, b.shape[-2:])) if b.ndim > 1 else f"{b.shape[0]}x1"
    raise RuntimeError(
        f"{name}: Incompatible shapes of A and B for the equation {side} = B ({a.shape[-2]}x{a.shape[-1]} and {given})"
    )


@guarded
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution X of A X = B for triangular matrices; the other triangle of A is not read.

    `upper`: which triangle A has. `left=False` solves X A = B. `unitriangular`: the diagonal counts as ones. `out`: a
    tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.solve_triangular(mpigrad.tensor([[2.0, 0.0], [9.0, 4.0]]), mpigrad.ones(2, 1), upper=True)
    tensor([[0.5000],
            [0.2500]])
    """
    name = "linalg.solve_triangular"
    check_matrix(name, A, square=True)
    check_matrix(name, B, argument="B")
    check_same_type(name, A, B)
    if B._array.shape[-2 if left else -1] != A._array.shape[-1]:
        _refuse_shapes(name, A._array, B._array, "AX" if left else "XA")
    offset = (1 if upper else -1) if unitriangular else 0
    part = A.triu(offset) if upper else A.tril(offset)
    if unitriangular:
        part = part + wrap(array_module(A._array).eye(A._array.shape[-1], dtype=A._array.dtype))
    if left:
        return deliver(_regular(name, part._array, lambda: inverses.solve_triangle(part, B)), out)
    return deliver(_regular(name, part._array, lambda: inverses.solve_matrix(part.mT, B.mT)).mT, out)


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.det(mpigrad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    check_matrix("linalg.det", A, square=True)
    return deliver(inverses.determinant(A), out)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The named tuple (sign, logabsdet): the sign of the determinant and the logarithm of its absolute value, without
    overflow.

    `out` is ignored.

    >>> import mpigrad
    >>> mpigrad.linalg.slogdet(mpigrad.eye(2)).logabsdet
    tensor(0.)
    """
    check_matrix("linalg.slogdet", A, square=True)
    return return_types.linalg_slogdet(*inverses.signed_log_determinant(A))


@guarded
def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant of square matrices; nan if the determinant is negative, -inf if it is 0.

    >>> import mpigrad
    >>> mpigrad.logdet(mpigrad.eye(2))
    tensor(0.)
    """
    check_matrix("logdet", input, square=True)
    if input.is_complex():
        return inverses.determinant(input).log()
    sign, size = inverses.signed_log_determinant(input)
    negative = sign._array < 0
    return size.masked_fill(wrap(np.asarray(negative)), float("nan")) if negative.any() else size


def pinv(
    A: Tensor,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    hermitian: bool = False,
    out: Tensor | None = None,
    rcond: float | None = None,
) -> Tensor:
    """The Moore-Penrose pseudo-inverse: the inverse where there is one, otherwise the least-squares solution of A X =
    I.

    Singular values up to max(atol, rtol * largest one) count as zero; by default `rtol` is the larger side of the matrix
    times the precision of its type. `hermitian`: use eigenvalues. `rcond` is an older name of `rtol`. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.pinv(mpigrad.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    check_matrix("linalg.pinv", A, square=hermitian)
    eps = max(A._array.shape[-2:]) * float(np.finfo(A._array.dtype).eps)
    relative = rcond if rcond is not None else rtol
    relative = (eps if atol is None or atol == 0 else 0.0) if relative is None else relative
    kw = {"hermitian": True} if hermitian else {}
    return deliver(inverses.pseudo_inverse(A, atol=float(atol or 0.0), rtol=float(relative), **kw), out)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose pseudo-inverse; `linalg.pinv` with `rcond` as relative tolerance.

    >>> import mpigrad
    >>> mpigrad.pinverse(mpigrad.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pinv(input, rcond=rcond)


@guarded
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th power of square matrices, for an int n; negative powers are powers of the inverse.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.matrix_power(mpigrad.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    need_tensors("linalg.matrix_power", A=A)
    if A._array.ndim < 2 or A._array.shape[-1] != A._array.shape[-2]:
        check_matrix("linalg.matrix_power", A, square=True)
    if n < 0:
        return matrix_power(inv(A), -n, out=out)
    if n == 0:
        x = A._array
        unit = array_module(x).broadcast_to(array_module(x).eye(x.shape[-1], dtype=x.dtype), x.shape).copy()
        return deliver(A * 0 + wrap(unit), out)
    result, square = None, A
    while n:
        if n % 2:
            result = square if result is None else matmul(result, square)
        n //= 2
        if n:
            square = matmul(square, square)
    assert result is not None
    return deliver(result.clone() if result is A else result, out)


def matrix_exp(A: Tensor) -> Tensor:
    """The matrix exponential of square matrices: the sum over k of A^k / k!.

    >>> import mpigrad
    >>> mpigrad.linalg.matrix_exp(mpigrad.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_matrix("linalg.matrix_exp", A, square=True)
    return inverses.exponential(A)


@guarded
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """The named tuple (result, info): the result of `solve`, and for each matrix 0 or the number (from 1) of its
    first zero pivot.

    `check_errors`: raise a LinAlgError for singular matrices. `out` is ignored. The other arguments are those of `solve`.

    >>> import mpigrad
    >>> mpigrad.linalg.solve_ex(mpigrad.eye(2), mpigrad.ones(2)).info
    tensor(0, dtype=mpigrad.int32)
    """
    check_matrix("linalg.solve_ex", A, square=True)
    found = singular_infos(A._array)
    if not found.any():
        return return_types.linalg_solve_ex(solve(A, B, left=left), wrap(found))
    if check_errors:
        raise_singular("linalg.solve_ex", A._array, found)
    return return_types.linalg_solve_ex(wrap(array_module(A._array).full_like(B._array, np.nan)), wrap(found))


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices (the first and the last may be vectors), in the order that needs the fewest
    multiplications.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.multi_dot([mpigrad.ones(2, 3), mpigrad.ones(3, 4), mpigrad.ones(4)])
    tensor([12., 12.])
    """
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(given)}")
    for place, each in enumerate(given):
        edge, wanted = place in (0, len(given) - 1), each._array.ndim
        if wanted != 2 and not (edge and wanted == 1):
            which = "first" if place == 0 else "last"
            what = f"the {which} tensor must be 1D or 2D" if edge else f"tensor {place} must be 2D"
            raise RuntimeError(f"multi_dot(): {what} but got {wanted}D")
    first, last = given[0]._array.ndim == 1, given[-1]._array.ndim == 1
    for place, (a, b) in enumerate(zip(given, given[1:])):
        if a._array.shape[-1] != b._array.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot "
                "be multiplied"
            )
    ends = [] if first else [given[0].shape[0]], [] if last else [given[-1].shape[1]]
    given[0] = given[0].unsqueeze(0) if first else given[0]
    given[-1] = given[-1].unsqueeze(1) if last else given[-1]
    return deliver(multiply_chain(given).view([*ends[0], *ends[1]]), out)


@guarded
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The least-squares solution X that minimises |A X - B|: the named tuple (solution, residuals, rank,
    singular_values).

    `A` is (..., m, n), `B` (..., m, k) or (..., m). Singular values up to `rcond` times the largest one count as
    zero. Residuals are empty unless m > n and A has full rank; with the default driver they and the singular values
    are computed as `driver` ("gelsy", "gels", "gelsd", "gelss") says in PyTorch.

    >>> import mpigrad
    >>> mpigrad.linalg.lstsq(mpigrad.ones(2, 1), mpigrad.tensor([[1.0], [3.0]])).solution.round()
    tensor([[2.]])
    """
    name = "linalg.lstsq"
    check_matrix(name, A)
    check_same_type(name, A, B)
    if driver not in (None, "gelsy", "gels", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver}")
    a, vector = A._array, B._array.ndim == A._array.ndim - 1
    right = B.unsqueeze(-1) if vector else B
    if right._array.shape[-2] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.size(-2), got {a.shape[-2]} and {right.shape[-2]}"
        )
    eps = float(np.finfo(a.dtype).eps) * max(a.shape[-2:])
    found = matmul(pinv(A, rtol=eps if rcond is None else rcond), right)
    xp = array_module(a)
    values = xp.linalg.svd(a, compute_uv=False)
    top = values.max(axis=-1, keepdims=True) if values.shape[-1] else values
    rank = xp.asarray((values > top * (eps if rcond is None else rcond)).sum(axis=-1))
    full = a.shape[-2] > a.shape[-1] and bool((rank == a.shape[-1]).all())
    empty = wrap(xp.empty(0, a.dtype))
    rest = ((matmul(A, found) - right).abs() ** 2).sum(-2) if full and driver not in (None, "gelsy") else empty
    solution = inverses.least_squares(found.squeeze(-1) if vector else found)
    shown = wrap(values) if driver in ("gelsd", "gelss") else empty
    return return_types.linalg_lstsq(solution, rest, wrap(rank), shown)


@guarded
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse X of A for `tensordot`: tensordot(A, X, ind) is the identity; the first `ind` dimensions of A are
    those of equations.

    >>> import mpigrad
    >>> mpigrad.linalg.tensorinv(mpigrad.eye(4).reshape(2, 2, 4), 2).shape
    mpigrad.Size([4, 2, 2])
    """
    shape = A._array.shape
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows = int(np.prod(shape[:ind]))
    return deliver(inv(A.reshape(rows, -1)).reshape([*shape[ind:], *shape[:ind]]), out)


@guarded
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The solution X of tensordot(A, X, X.ndim) = B. `dims`: dimensions of A to move to the end first.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.linalg.tensorsolve(mpigrad.eye(4).reshape(2, 2, 4), mpigrad.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        others = [i for i in range(A.dim()) if i not in [d % A.dim() for d in dims]]
        A = A.permute([*others, *(d % A.dim() for d in dims)])
    rest = A._array.shape[B.dim() :]
    return deliver(solve(A.reshape(-1, int(np.prod(rest))), B.reshape(-1)).reshape(rest), out)


@guarded
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution X of A X = B, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A =
    U^H U.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cholesky_solve(mpigrad.ones(1, 1), mpigrad.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    lower = L.mH if upper else L
    half = solve_triangular(lower, B, upper=False)
    return deliver(solve_triangular(lower.mH, half, upper=True), out)


@guarded
def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, given the lower triangular `L` with A = L L^H; with `upper`, the upper triangular U with A = U^H U.

    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cholesky_inverse(mpigrad.tensor([[2.0]]))
    tensor([[0.2500]])
    """
    unit = wrap(array_module(L._array).eye(L._array.shape[-1], dtype=L._array.dtype))
    return deliver(cholesky_solve(unit, L, upper), out)


inverse = inv
for _name, _fn in (
    ("inverse", inv),
    ("det", det),
    ("logdet", logdet),
    ("slogdet", slogdet),
    ("pinverse", pinverse),
    ("matrix_power", matrix_power),
    ("matrix_exp", matrix_exp),
    ("cholesky_solve", cholesky_solve),
    ("cholesky_inverse", cholesky_inverse),
):
    method(_fn, _name)
