"""Factorizations of matrices: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, strict

from .._define.operator import kernel, operator
from ..shape import padding as padding  # registers F.constant_pad, which derivatives use
from . import inverses as inverses  # registers F.inverse and F.identity_of, which derivatives use
from .matmul import adjoint_of


def _lower_mask(x: Any, *, diagonal: float) -> Any:
    """A mask for square matrices: 1 below the diagonal, `diagonal` on it, 0 above it."""
    xp = array_module(x)
    n = x.shape[-1]
    return (xp.tri(n, k=-1) + xp.eye(n) * diagonal).astype(x.dtype)


kernel("lower_mask", _lower_mask)
kernel("zeros_of", lambda x: array_module(x).zeros_like(x))


def _cholesky_backward(F: Any, node: Any, g: Any, lower: Any) -> Any:
    # Phi(X), the lower triangle with half of the diagonal: dL = L Phi(L^-1 dA L^-H), read backwards
    middle = (adjoint_of(F, lower) @ g) * F.lower_mask(lower, diagonal=0.5)
    inverse = F.inverse(lower)
    return adjoint_of(F, inverse) @ ((middle + adjoint_of(F, middle)) * 0.5) @ inverse


def _cholesky(a: Any) -> Any:
    with strict(a):
        return array_module(a).linalg.cholesky(a)


cholesky = operator("cholesky", _cholesky, _cholesky_backward, saves=(-1,), node="LinalgCholeskyExBackward0")


old_cholesky = operator("old_cholesky", _cholesky, _cholesky_backward, saves=(-1,), node="CholeskyBackward0")


# -- QR ----------------------------------------------------------------------------------------------------------------
def _qr(a: Any, *, mode: str) -> Any:
    return tuple(array_module(a).linalg.qr(a, mode=mode))


def _given(F: Any, grad: Any, like: Any) -> Any:
    return F.zeros_of(like) if grad is None else grad


def _qr_backward(F: Any, node: Any, grads: Any, a: Any, q: Any, r: Any) -> Any:
    if grads[0] is None and grads[1] is None:
        return None
    rows, columns = node.shapes[0][-2:]
    gq, gr = _given(F, grads[0], q), _given(F, grads[1], r)
    if node.kw["mode"] == "complete" and rows > columns:
        raise RuntimeError(
            f"The QR decomposition is not differentiable when mode='complete' and nrows > ncols, got {rows} x {columns}"
        )
    if rows >= columns:
        return _tall(F, gq, gr, q, r)
    # A wide matrix is [X | Y] with X square: Q and the left part of R are the factors of X, and R's right part is Q^H
    # Y.
    left = [(0, 0)] * (len(node.shapes[0]) - 1) + [(0, columns - rows)]
    right = [(0, 0)] * (len(node.shapes[0]) - 1) + [(rows, 0)]
    gu, gv = _cut(F, gr, left), _cut(F, gr, right)
    into_x = _tall(F, gq + _cut(F, a, right) @ adjoint_of(F, gv), gu, q, _cut(F, r, left))
    return F.constant_pad(into_x, sides=tuple(left), value=0) + F.constant_pad(q @ gv, sides=tuple(right), value=0)


def _cut(F: Any, x: Any, sides: Any) -> Any:
    return F.constant_pad(x, sides=tuple((-a, -b) for a, b in sides), value=0)


def _tall(F: Any, gq: Any, gr: Any, q: Any, r: Any) -> Any:
    m = r @ adjoint_of(F, gr) - adjoint_of(F, gq) @ q
    lower = m * F.lower_mask(m, diagonal=1.0)
    strict = m * F.lower_mask(m, diagonal=0.0)
    return (gq + q @ (lower + adjoint_of(F, strict))) @ adjoint_of(F, F.inverse(r))


qr = operator("qr", _qr, _qr_backward, saves=(0, -1, -2), node="LinalgQrBackward0")


# -- singular values ---------------------------------------------------------------------------------------------------
def _svd(a: Any, *, full_matrices: bool) -> Any:
    u, s, vh = array_module(a).linalg.svd(a, full_matrices=full_matrices)
    return u, s, vh


def _differences(F: Any, values: Any) -> Any:
    """`values[j] - values[i]`, with ones on the diagonal, so that dividing by it is safe."""
    n = values.shape[-1]
    front = values.shape[:-1]
    return values.reshape(*front, 1, n) - values.reshape(*front, n, 1) + F.identity_of(values)


def _svd_backward(F: Any, node: Any, grads: Any, u: Any, s: Any, vh: Any) -> Any:
    gu, gs, gvh = grads
    if gu is None and gs is None and gvh is None:
        return None
    rows, columns = node.shapes[0][-2:]
    k = min(rows, columns)
    if node.kw["full_matrices"] and rows != columns:
        u, vh = _cut(F, u, _last(u, -1, k)), _cut(F, vh, _last(vh, -2, k))
        gu = None if gu is None else _cut(F, gu, _last(gu, -1, k))
        gvh = None if gvh is None else _cut(F, gvh, _last(gvh, -2, k))
    uh, v = adjoint_of(F, u), adjoint_of(F, vh)
    front = s.shape[:-1]
    across, down = s.reshape(*front, 1, k), s.reshape(*front, k, 1)
    inner = None if gs is None else gs.reshape(*front, k, 1) * F.identity_of(s)
    # Equal singular values make this zero off the diagonal: there the gradient is not defined, and becomes inf or
    # nan.
    apart = _differences(F, s * s)
    if gu is not None:
        turn = uh @ gu
        inner = _plus(inner, (turn - adjoint_of(F, turn)) / apart * across)
    if gvh is not None:
        turn = vh @ adjoint_of(F, gvh)
        inner = _plus(inner, down * ((turn - adjoint_of(F, turn)) / apart))
    made = u @ inner @ vh
    # u spans only k of the dimensions: the part of its gradient that leaves this space
    if gu is not None and rows > k:
        scaled = gu / across
        made = made + (scaled - u @ (uh @ scaled)) @ vh
    if gvh is not None and columns > k:
        scaled = gvh / down
        made = made + u @ (scaled - (scaled @ v) @ vh)
    return made


def _last(x: Any, axis: int, keep: int) -> Any:
    n = len(x.shape)
    return [(0, x.shape[i] - keep) if i == n + axis else (0, 0) for i in range(n)]


def _plus(held: Any, more: Any) -> Any:
    return more if held is None else held + more


svd = operator("svd", _svd, _svd_backward, saves=(-1, -2, -3), node="LinalgSvdBackward0")


# -- eigenvalues -------------------------------------------------------------------------------------------------------
def _eigh(a: Any, *, lower: bool) -> Any:
    return tuple(array_module(a).linalg.eigh(a, UPLO="L" if lower else "U"))


def _eigh_backward(F: Any, node: Any, grads: Any, values: Any, v: Any) -> Any:
    gl, gv = grads
    if gl is None and gv is None:
        return None
    inner = None
    if gl is not None:
        inner = gl.reshape(*gl.shape, 1) * F.identity_of(values)
    if gv is not None:
        turn = adjoint_of(F, v) @ gv
        inner = _plus(inner, turn * (1.0 - F.identity_of(turn)) / _differences(F, values))
    return v @ inner @ adjoint_of(F, v)


eigh = operator("eigh", _eigh, _eigh_backward, saves=(-1, -2), node="LinalgEighBackward0")


def _eig(a: Any) -> Any:
    kind = np.dtype("c8" if a.dtype in (np.dtype("f4"), np.dtype("c8")) else "c16")
    return tuple(each.astype(kind) for each in array_module(a).linalg.eig(a))


def _eig_backward(F: Any, node: Any, grads: Any, a: Any, values: Any, v: Any) -> Any:
    gl, gv = grads
    if gl is None and gv is None:
        return None
    vh = adjoint_of(F, v)
    inner = None
    if gl is not None:
        inner = gl.reshape(*gl.shape, 1) * F.identity_of(values)
    if gv is not None:
        turn = vh @ gv
        diagonal = turn * F.identity_of(turn)
        # without the part that changes the length of the eigenvectors, which are normalised
        loose = turn - (vh @ v) @ ((diagonal + F.conj(diagonal)) * 0.5)
        inner = _plus(inner, loose * (1.0 - F.identity_of(turn)) / F.conj(_differences(F, values)))
    made = F.inverse(vh) @ inner @ vh
    kind = getattr(a, "_array", a).dtype
    return made if kind.kind == "c" else F.cast(made, dtype=kind)


eig = operator("eig", _eig, _eig_backward, saves=(0, -1, -2), node="LinalgEigBackward0")

__all__: list[str] = []
