"""Modified Bessel functions of order 0 and 1, divided by exp(|x|) so that they never overflow.

For |x| up to 30 the integral (1/pi) * int exp(x cos t) cos(n t) dt is summed by the trapezoidal rule, which is exact to
the last digit for periodic functions as smooth as this one; beyond, the asymptotic series is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_POINTS = 64
_TERMS = 24
_LIMIT = 30.0


def _near(x: Any, order: int) -> Any:
    total = np.zeros_like(x)
    for k in range(_POINTS + 1):
        angle = math.pi * k / _POINTS
        weight = 0.5 if k in (0, _POINTS) else 1.0
        total = total + (weight * math.cos(order * angle)) * np.exp(x * (math.cos(angle) - 1.0))
    return total / _POINTS


def _tiny(x: Any) -> Any:
    """The function of order 1 near zero, where the sum above would be a difference of almost equal numbers."""
    square, term = x * x / 4.0, x / 2.0
    total = term
    for k in range(1, 10):
        term = term * square / (k * (k + 1))
        total = total + term
    return total * np.exp(-x)


def _far(x: Any, order: int) -> Any:
    term = total = np.ones_like(x)
    for k in range(1, _TERMS):
        term = term * (-(4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k)) / x
        total = total + term
    return total / np.sqrt(x * (2.0 * math.pi))


def _scaled(x: Any, order: int) -> Any:
    size = np.abs(x.astype("f8"))
    near = size <= _LIMIT
    made = np.where(near, _near(np.minimum(size, _LIMIT), order), _far(np.maximum(size, _LIMIT), order))
    if order:
        made = np.where(size < 0.5, _tiny(np.minimum(size, 0.5)), made)
    made = np.where(size == math.inf, 0.0, made)
    made = np.where(np.isnan(size), math.nan, made)
    return (np.where(x < 0, -made, made) if order else made).astype(x.dtype)


def i0e(x: Any) -> Any:
    """The modified Bessel function of order 0, divided by exp(|x|)."""
    return _scaled(x, 0)


def i1e(x: Any) -> Any:
    """The modified Bessel function of order 1, divided by exp(|x|)."""
    return _scaled(x, 1)


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0."""
    wide = x.astype("f8")
    return (i0e(wide) * np.exp(np.abs(wide))).astype(x.dtype)


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1."""
    wide = x.astype("f8")
    return (i1e(wide) * np.exp(np.abs(wide))).astype(x.dtype)
