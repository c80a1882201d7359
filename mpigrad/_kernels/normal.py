"""The distribution function of the normal distribution: its logarithm and inverse, exact far out in the tails."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .special import erfc, erfinv

_DEPTH = 60
_HALF = math.sqrt(0.5)


def erfcx(x: Any) -> Any:
    """exp(x * x) * erfc(x); by a continued fraction where that would be 0 * inf."""
    wide = x.astype("f8")
    size = np.abs(wide)
    far = np.maximum(size, 5.0)
    tail = far
    for k in range(_DEPTH, 0, -1):
        tail = far + (0.5 * k) / tail
    near = np.minimum(size, 5.0)
    made = np.where(size > 5.0, 1.0 / (tail * math.sqrt(math.pi)), np.exp(near * near) * erfc(near))
    return np.where(wide < 0, 2.0 * np.exp(wide * wide) - made, made).astype(x.dtype)


def log_ndtr(x: Any) -> Any:
    """The logarithm of the cumulative normal distribution function."""
    wide = x.astype("f8")
    low, high = np.minimum(wide, -1.0), np.maximum(wide, -1.0)
    tail = np.log(erfcx(low * -_HALF) / 2.0) - low * low / 2.0
    return np.where(wide < -1.0, tail, np.log1p(erfc(high * _HALF) * -0.5)).astype(x.dtype)


def ndtri(p: Any) -> Any:
    """The inverse of the cumulative normal distribution function."""
    wide = p.astype("f8")
    small = np.clip(np.minimum(wide, 1.0 - wide), 1e-320, 0.5)
    found = np.where(small < 0.02, np.sqrt(-2.0 * np.log(np.minimum(small, 0.02))), erfinv(1.0 - 2.0 * small) / _HALF)
    goal = np.log(small)
    for _ in range(6):  # Newton's steps on the logarithm, which is almost a parabola
        value = log_ndtr(-found)
        found = found + (value - goal) * np.exp(value + found * found / 2.0) * math.sqrt(2.0 * math.pi)
    made = np.where(wide < 0.5, -found, found)
    made = np.where(wide == 0.0, -math.inf, np.where(wide == 1.0, math.inf, made))
    return np.where((wide < 0.0) | (wide > 1.0) | np.isnan(wide), math.nan, made).astype(p.dtype)
