"""The incomplete gamma functions and the Hurwitz zeta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .special import lgamma

_STEPS = 2000
_SMALL = 1e-300
_EXACT = 1e-16
# B(2k) / (2k)! of Euler and Maclaurin's formula
_SUMMATION = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def _series(a: Any, x: Any) -> Any:
    """The lower incomplete gamma function by its series, for x < a + 1."""
    term = total = 1.0 / a
    for n in range(1, _STEPS):
        term = term * x / (a + n)
        total = total + term
        if not bool((term > total * _EXACT).any()):
            break
    return total


def _fraction(a: Any, x: Any) -> Any:
    """The upper incomplete gamma function by a continued fraction (Lentz's method), for x >= a + 1."""
    b = x + 1.0 - a
    c = np.full_like(x, 1.0 / _SMALL)
    d = 1.0 / b
    made = d
    for i in range(1, _STEPS):
        numerator = -i * (i - a)
        b = b + 2.0
        d = numerator * d + b
        d = 1.0 / np.where(np.abs(d) < _SMALL, _SMALL, d)
        c = b + numerator / c
        c = np.where(np.abs(c) < _SMALL, _SMALL, c)
        step = d * c
        made = made * step
        if not bool((np.abs(step - 1.0) > _EXACT * 10).any()):
            break
    return made


def _both(a: Any, x: Any) -> tuple[Any, Any]:
    """P(a, x) and Q(a, x), the regularised lower and upper incomplete gamma function."""
    kind = a.dtype
    a, x = np.broadcast_arrays(a.astype("f8"), x.astype("f8")) if a.shape != x.shape else (a.astype("f8"), x.astype("f8"))
    usual = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    p, y = np.where(usual, a, 1.0), np.where(usual, x, 1.0)
    factor = np.exp(p * np.log(y) - y - lgamma(p))
    below = y < p + 1.0
    lower = factor * _series(p, np.where(below, y, p))
    upper = factor * _fraction(p, np.where(below, p + 2.0, y))
    lower = np.where(below, lower, 1.0 - upper)
    rest = ((a == 0) & (x > 0)) | ((x == math.inf) & np.isfinite(a))
    none = ((x == 0) & (a > 0)) | ((a == math.inf) & np.isfinite(x))
    bad = (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x) | ((a == 0) & (x == 0)) | ((a == math.inf) & (x == math.inf))
    lower = np.where(rest, 1.0, np.where(none, 0.0, lower))
    upper = np.where(below & usual, 1.0 - lower, np.where(rest, 0.0, np.where(none, 1.0, upper)))
    return tuple(np.where(bad, math.nan, each).astype(kind) for each in (lower, upper))  # type: ignore[return-value]


def lower(a: Any, x: Any) -> Any:
    """The regularised lower incomplete gamma function P(a, x)."""
    return _both(a, x)[0]


def upper(a: Any, x: Any) -> Any:
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x)."""
    return _both(a, x)[1]


def zeta(x: Any, q: Any) -> Any:
    """The sum of (q + k) ** -x over all k >= 0."""
    kind = x.dtype
    x, z = x.astype("f8"), q.astype("f8")
    lowest = float(z.min()) if z.size else 12.0
    steps = int(min(max(0.0, math.ceil(12.0 - lowest)), 10000.0)) if math.isfinite(lowest) else 12
    total = np.zeros(np.broadcast_shapes(x.shape, z.shape)) if isinstance(x, np.ndarray) else x * 0 + z * 0
    start = z
    for _ in range(steps):
        total = total + np.abs(z) ** -x * np.where((z < 0) & (np.mod(x, 2.0) == 1.0), -1.0, 1.0)
        z = z + 1.0
    total = total + z ** (1.0 - x) / (x - 1.0) + 0.5 * z**-x
    factor, power = x, z ** (-x - 1.0)
    for k, b in enumerate(_SUMMATION, start=1):
        total = total + b * factor * power
        factor = factor * (x + (2 * k - 1)) * (x + 2 * k)
        power = power / (z * z)
    pole = (start <= 0) & (start == np.floor(start))
    bad = (x < 1.0) | ((start < 0) & ~pole & (x != np.floor(x)))
    made = np.where((x == 1.0) | (pole & (x > 1.0)), math.inf, total)
    return np.where(bad, math.nan, made).astype(kind)
