"""Inverses, linear equations and determinants."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, strict

from .._define.operator import kernel, operator
from ..shape import padding as padding  # registers F.constant_pad, which derivatives use
from .matmul import adjoint_of, transpose_raw

kernel("identity_of", lambda x: array_module(x).eye(x.shape[-1], dtype=x.dtype))


def _adjoint(x: Any) -> Any:
    return transpose_raw(x.conj() if x.dtype.kind == "c" else x)


def _inverse_backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    turned = adjoint_of(F, y)
    return -(turned @ g @ turned)


def _inverse(a: Any) -> Any:
    with strict(a):
        return array_module(a).linalg.inv(a)


inverse = operator("inverse", _inverse, _inverse_backward, saves=(-1,), node="LinalgInvExBackward0")


def _solve(a: Any, b: Any) -> Any:
    xp = array_module(a)
    if a.shape[:-2] != b.shape[:-2]:  # CuPy does not broadcast here
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (xp.broadcast_to(each, batch + each.shape[-2:]) for each in (a, b))
    with strict(a):
        return xp.linalg.solve(a, b)


def _solve_backward(F: Any, node: Any, g: Any, a: Any, x: Any) -> Any:
    # A X = B: the gradient of B is A^-H G, and that of A follows from it
    into_b = F.solve_matrix(adjoint_of(F, a), g)
    into_a = -(into_b @ adjoint_of(F, x)) if node.needs[0] else None
    first, second = node.shapes
    return (
        None if into_a is None else F.sum_to(into_a, shape=first),
        F.sum_to(into_b, shape=second) if node.needs[1] else None,
    )


solve_matrix = operator("solve_matrix", _solve, _solve_backward, saves=(0, -1), node="LinalgSolveExBackward0")


solve_triangle = operator(
    "solve_triangle", _solve, _solve_backward, saves=(0, -1), node="LinalgSolveTriangularBackward0"
)
least_squares = operator("least_squares", lambda x: x.copy(), lambda F, node, g: g, node="LinalgLstsqBackward0")


def _solve_vector(a: Any, b: Any) -> Any:
    return _solve(a, b[..., None])[..., 0]


def _solve_vector_backward(F: Any, node: Any, g: Any, a: Any, x: Any) -> Any:
    into_b = F.solve_matrix(adjoint_of(F, a), g.reshape(*g.shape, 1))
    into_a = -(into_b @ F.conj(x.reshape(*x.shape[:-1], 1, x.shape[-1]))) if node.needs[0] else None
    first, second = node.shapes
    return (
        None if into_a is None else F.sum_to(into_a, shape=first),
        F.sum_to(into_b.reshape(into_b.shape[:-1]), shape=second) if node.needs[1] else None,
    )


solve_vector = operator(
    "solve_vector", _solve_vector, _solve_vector_backward, saves=(0, -1), node="LinalgSolveExBackward0"
)


# -- determinants ------------------------------------------------------------------------------------------------------
def _cofactors(a: Any) -> Any:
    """The matrix of cofactors, also of singular matrices: computed from singular values, without dividing by the determinant."""
    xp = array_module(a)
    u, s, vh = xp.linalg.svd(a)
    n = s.shape[-1]
    others = xp.stack([xp.delete(s, i, axis=-1).prod(axis=-1) for i in range(n)], axis=-1) if n else s
    # the determinant is that of the singular values times this, which is 1 or -1 (or a phase)
    turn = xp.linalg.det(u @ vh)
    found = (u * others[..., None, :]) @ vh
    return (found.conj() if found.dtype.kind == "c" else found) * turn[..., None, None]


def _cofactors_backward(F: Any, node: Any, g: Any, a: Any) -> Any:
    """The derivative of the cofactors of an invertible matrix: cofactors = det * inverse^T."""
    y = F.mt(F.inverse(a))
    d = F.determinant(a)
    wide = d.reshape(*d.shape, 1, 1)
    inner = F.trace_of(F.mt(F.conj(y)) @ g)
    return F.conj(wide * y) * inner.reshape(*inner.shape, 1, 1) - F.conj(wide) * (F.conj(y) @ F.mt(g) @ F.conj(y))


operator("cofactors", _cofactors, _cofactors_backward, saves=(0,), node="LinalgDetBackwardBackward0")


def _trace_backward(F: Any, node: Any, g: Any, a: Any) -> Any:
    return g.reshape(*g.shape, 1, 1) * F.identity_of(a)


operator(
    "trace_of",
    lambda a: array_module(a).trace(a, axis1=-2, axis2=-1, dtype=a.dtype),
    _trace_backward,
    saves=(0,),
    node="TraceBackward0",
)
determinant = operator(
    "determinant",
    lambda a: array_module(a).linalg.det(a),
    lambda F, node, g, a: g.reshape(*g.shape, 1, 1) * F.conj(F.cofactors(a)),
    saves=(0,),
    node="LinalgDetBackward0",
)


def _slogdet_backward(F: Any, node: Any, grads: Any, a: Any) -> Any:
    g = grads[1]  # the sign of a real determinant does not change
    if g is None:
        return None
    return g.reshape(*g.shape, 1, 1) * adjoint_of(F, F.inverse(a))


signed_log_determinant = operator(
    "slogdet",
    lambda a: tuple(array_module(a).linalg.slogdet(a)),
    _slogdet_backward,
    saves=(0,),
    node="LinalgSlogdetBackward0",
)


# -- the pseudo-inverse ------------------------------------------------------------------------------------------------
def _pinv(a: Any, *, atol: float, rtol: float, hermitian: bool = False) -> Any:
    xp = array_module(a)
    if hermitian:  # only the lower triangle is used
        a = xp.tril(a) + _adjoint(xp.tril(a, -1))
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    largest = s.max(axis=-1, keepdims=True) if s.shape[-1] else s
    keep = s > np.maximum(atol, rtol * largest)
    inverse = xp.where(keep, 1 / xp.where(keep, s, 1), 0).astype(s.dtype)
    return _adjoint(vh) @ (inverse[..., None] * _adjoint(u))


def _pinv_backward(F: Any, node: Any, g: Any, a: Any, p: Any) -> Any:
    """The derivative of the pseudoinverse P: the transpose of dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P."""
    ph, gh = adjoint_of(F, p), adjoint_of(F, g)
    second = gh @ p @ ph
    third = ph @ p @ gh
    return -(ph @ g @ ph) + (second - a @ (p @ second)) + (third - (third @ p) @ a)


pseudo_inverse = operator("pinv", _pinv, _pinv_backward, saves=(0, -1), node="LinalgPinvBackward0")

# -- the exponential ---------------------------------------------------------------------------------------------------
_PADE = (
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
)  # fmt: skip


def _exponential(a: Any) -> Any:
    """The matrix exponential: Pade's approximation of order 13 to exp(a / 2^n), squared n times."""
    xp = array_module(a)
    size = float(xp.abs(a).sum(axis=-2).max()) if a.size else 0.0
    # 5.37: the largest norm for which this approximation is exact in double precision (Higham 2005)
    squarings = max(0, int(np.ceil(np.log2(size / 5.37)))) if size > 5.37 else 0
    a = a / a.dtype.type(2**squarings)
    unit = xp.broadcast_to(xp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    powers = [unit]
    for _ in range(3):
        powers.append(powers[-1] @ a @ a)
    even, odd = (sum(float(_PADE[2 * i + shift]) * power for i, power in enumerate(powers)) for shift in (0, 1))
    high_even, high_odd = (sum(float(_PADE[2 * i + shift]) * powers[i - 3] for i in range(4, 7)) for shift in (0, 1))
    even, odd = even + powers[3] @ high_even, a @ (odd + powers[3] @ high_odd)
    made = xp.linalg.solve(even - odd, even + odd).astype(a.dtype)
    for _ in range(squarings):
        made = made @ made
    return made


def _exponential_backward(F: Any, node: Any, g: Any, a: Any) -> Any:
    """The derivative of the matrix exponential: the upper right block of exp([[A^H, G], [0, A^H]])."""
    n, front = node.shapes[0][-1], ((0, 0),) * (len(node.shapes[0]) - 2)
    turned = adjoint_of(F, a)
    before, after = (0, n), (n, 0)
    whole = (
        F.constant_pad(turned, sides=(*front, before, before), value=0)
        + F.constant_pad(turned, sides=(*front, after, after), value=0)
        + F.constant_pad(g, sides=(*front, before, after), value=0)
    )
    return F.constant_pad(F.matrix_exp(whole), sides=(*front, (0, -n), (-n, 0)), value=0)


exponential = operator("matrix_exp", _exponential, _exponential_backward, saves=(0,), node="LinalgMatrixExpBackward0")

__all__: list[str] = []
