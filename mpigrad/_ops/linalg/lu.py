"""LU factorization of matrices with row exchanges: P^T A = L U."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor

from .._define.composite import composite
from .._define.operator import kernel, operator
from . import factorizations as factorizations  # registers F.lower_mask, which derivatives use
from .inverses import solve_matrix
from .matmul import adjoint_of


def _size(xp: Any, x: Any) -> Any:
    """The size by which LAPACK chooses a pivot; of complex numbers, the sum of the sizes of both parts."""
    return xp.abs(x.real) + xp.abs(x.imag) if x.dtype.kind == "c" else xp.abs(x)


def factor(a: Any) -> tuple[Any, Any]:
    """L and U in one array (without the ones on the diagonal of L), and for each row the row with which it was exchanged."""
    xp = array_module(a)
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    lu = a.reshape(-1, rows, columns).copy()
    pivots = xp.empty((len(lu), count), np.int32)
    each = xp.arange(len(lu))
    for j in range(count):
        best = j + _size(xp, lu[:, j:, j]).argmax(axis=1) if len(lu) else each
        # LAPACK counts from 1
        pivots[:, j] = best + 1
        swapped = lu[each, best].copy()
        lu[each, best] = lu[:, j]
        lu[:, j] = swapped
        pivot = lu[:, j, j]
        # a zero pivot means that the whole column below it is zero: nothing to eliminate
        lu[:, j + 1 :, j] /= xp.where(pivot == 0, xp.ones_like(pivot), pivot)[:, None]
        lu[:, j + 1 :, j + 1 :] -= lu[:, j + 1 :, j, None] * lu[:, j, None, j + 1 :]
    return lu.reshape(a.shape), pivots.reshape(*a.shape[:-2], count)


def permutation(pivots: Any, *, rows: int, kind: Any) -> Any:
    """The permutation matrix P (rows, rows) of a sequence of row exchanges `pivots`."""
    xp = array_module(pivots)
    flat = pivots.reshape(-1, pivots.shape[-1])
    order = xp.broadcast_to(xp.arange(rows), (len(flat), rows)).copy()
    each = xp.arange(len(flat))
    for j in range(flat.shape[1]):
        other = flat[:, j] - 1
        held = order[each, other].copy()
        order[each, other] = order[:, j]
        order[:, j] = held
    made = (xp.arange(rows)[:, None] == order[:, None, :]).astype(kind)
    return made.reshape(*pivots.shape[:-1], rows, rows)


def _lower(lu: Any) -> Any:
    xp = array_module(lu)
    count = min(lu.shape[-2:])
    return xp.tril(lu[..., :count], -1) + xp.eye(lu.shape[-2], count, dtype=lu.dtype)


def _upper(lu: Any) -> Any:
    return array_module(lu).triu(lu[..., : min(lu.shape[-2:]), :])


kernel("permutation", permutation)
kernel("ones_down", lambda x: array_module(x).eye(*x.shape[-2:], dtype=x.dtype))


def _packed_gradient(F: Any, shape: tuple[int, ...], gl: Any, gu: Any) -> Any:
    """Join the gradients of L and U in one array, as `factor` returns them; either may be None."""
    rows, columns = shape[-2:]
    total = None
    for g, lower in ((gl, True), (gu, False)):
        if g is not None:
            part = F.tril(g, diagonal=-1) if lower else F.triu(g, diagonal=0)
            height, width = part.shape[-2:]
            sides = ((0, 0),) * (len(shape) - 2) + ((0, rows - height), (0, columns - width))
            part = F.constant_pad(part, sides=sides, value=0) if (height, width) != (rows, columns) else part
            total = part if total is None else total + part
    return total


def _matrix_gradient(F: Any, shape: tuple[int, ...], g: Any, lower: Any, upper: Any, p: Any) -> Any:
    """The gradient of the matrix, from the gradient of its factors in one array: L1^-H (tril(L1^H G_L) + triu(G_U U1^H)) U1^-H,
    where L1 and U1 are the square parts of the factors, extended to the remaining rows or columns.
    """
    rows, columns = shape[-2:]
    n = min(rows, columns)
    l1, u1, g1 = lower[..., :n, :], upper[..., :n], g[..., :n, :n]
    mask = F.lower_mask(l1, diagonal=0.0)
    below, above = adjoint_of(F, l1) @ (g1 * mask), (g1 - g1 * mask) @ adjoint_of(F, u1)
    if columns > n:
        below = below - g[..., n:] @ adjoint_of(F, upper[..., n:])
    if rows > n:
        above = above - adjoint_of(F, lower[..., n:, :]) @ g[..., n:, :]
    left, right = adjoint_of(F, F.inverse(l1)), adjoint_of(F, F.inverse(u1))
    made = left @ (below * mask + above - above * mask) @ right
    outer = ((0, 0),) * (len(shape) - 2)
    if columns > n:
        made = F.constant_pad(made, sides=(*outer, (0, 0), (0, columns - n)), value=0) + F.constant_pad(
            left @ g[..., n:], sides=(*outer, (0, 0), (n, 0)), value=0
        )
    if rows > n:
        made = F.constant_pad(made, sides=(*outer, (0, rows - n), (0, 0)), value=0) + F.constant_pad(
            g[..., n:, :] @ right, sides=(*outer, (n, 0), (0, 0)), value=0
        )
    return p @ made


def _factor_backward(F: Any, node: Any, grads: Any, lu: Any, pivots: Any) -> Any:
    if grads[0] is None:
        return None
    shape = node.shapes[0]
    n = min(shape[-2:])
    lower, upper = F.tril(lu[..., :n], diagonal=-1), F.triu(lu[..., :n, :], diagonal=0)
    p = F.permutation(pivots, rows=shape[-2], kind=lu.dtype if F is RAW else lu._array.dtype)
    return _matrix_gradient(F, shape, grads[0], lower + F.ones_down(lower), upper, p)


def _parts_backward(F: Any, node: Any, grads: Any, p: Any, lower: Any, upper: Any) -> Any:
    g = _packed_gradient(F, node.shapes[0], grads[1], grads[2])
    return None if g is None else _matrix_gradient(F, node.shapes[0], g, lower, upper, p)


def _unpack(lu: Any, pivots: Any) -> Any:
    return permutation(pivots, rows=lu.shape[-2], kind=lu.dtype), _lower(lu), _upper(lu)


def _solution(lu: Tensor, pivots: Tensor, b: Tensor, *, left: bool, adjoint: bool) -> Tensor:
    p, lower, upper = LU_UNPACK(lu, pivots)
    a = p @ lower @ upper
    a = a.mH if adjoint else a
    return solve_matrix(a, b) if left else solve_matrix(a.mT, b.mT).mT


LU_FACTOR = operator("lu_factor", factor, _factor_backward, saves=(-1, -2), node="LinalgLuFactorExBackward0")
LU = operator(
    "lu", lambda a: _unpack(*factor(a)), _parts_backward, saves=(-1, -2, -3), node="LinalgLuBackward0"
)
LU_UNPACK = operator(
    "lu_unpack", _unpack, lambda F, node, g: (_packed_gradient(F, node.shapes[0], g[1], g[2]), None), node="LuUnpackBackward0"
)
LU_SOLVE = composite("lu_solve", _solution, 3, node="LinalgLuSolveBackward0")

__all__: list[str] = []
