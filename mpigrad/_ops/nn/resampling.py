"""Separable linear maps of the last dimensions, given by one matrix for each: adaptive average pooling and interpolation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module

from .._define.operator import Operator, operator
from .pooling import bounds

Matrices = tuple[Any, ...]  # one per dimension, (out, in), float64


def _apply(x: Any, *, matrices: Matrices) -> Any:
    xp = array_module(x)
    for place, matrix in enumerate(matrices):
        axis = x.ndim - len(matrices) + place
        along = xp.asarray(matrix, dtype=x.dtype)
        x = along @ x.swapaxes(axis, -2) if axis != x.ndim - 1 else x @ along.T
        if axis != x.ndim - 1:
            x = x.swapaxes(axis, -2)
    return x


def _backward(F: Any, node: Any, g: Any) -> Any:
    return F.resample(g, matrices=tuple(each.T for each in node.kw["matrices"]))


def _named(name: str, node: str) -> Operator:
    return operator(name, _apply, _backward, node=node)


resample = _named("resample", "UpsampleBackwardBackward0")
adaptive_avg = {
    n: _named(f"adaptive_avg_pool{n}d", "SqueezeBackward1" if n == 1 else f"AdaptiveAvgPool{n}DBackward0")
    for n in (1, 2, 3)
}
interpolation = {
    (mode, n): _named(f"upsample_{mode}{n}d", f"Upsample{title}{n}DBackward0")
    for mode, title, dims in (
        ("nearest", "Nearest", (1, 2, 3)),
        ("nearest-exact", "NearestExact", (1, 2, 3)),
        ("linear", "Linear", (1,)),
        ("bilinear", "Bilinear", (2,)),
        ("trilinear", "Trilinear", (3,)),
        ("bicubic", "Bicubic", (2,)),
    )
    for n in dims
}


def means(n: int, out: int) -> Any:
    """The matrix that computes the means of `out` windows over `n` elements."""
    made = np.zeros((out, n))
    for row, (start, end) in enumerate(bounds(n, out)):
        made[row, start:end] = 1.0 / (end - start)
    return made


def nearest(n: int, out: int, scale: float | None, exact: bool) -> Any:
    """The matrix of nearest-neighbour interpolation from `n` to `out` elements; `scale` is given instead of their ratio.

    `exact` ("nearest-exact") takes the element below the centre of each output element, not below its beginning.
    """
    step = n / out if scale is None else 1.0 / scale
    made, shift = np.zeros((out, n)), 0.5 if exact else 0.0
    for row in range(out):
        made[row, min(int(math.floor((row + shift) * step)), n - 1)] = 1.0
    return made


def _source(row: int, n: int, out: int, scale: float | None, align: bool, cubic: bool) -> float:
    """The position in the input of the output element number `row`; `align` is `align_corners`."""
    if align:
        return row * ((n - 1) / (out - 1) if out > 1 else 0.0)
    found = (row + 0.5) * (n / out if scale is None else 1.0 / scale) - 0.5
    return found if cubic else max(found, 0.0)


def linear(n: int, out: int, scale: float | None, align: bool) -> Any:
    """The matrix of linear interpolation; the arguments are those of `nearest` and `_source`."""
    made = np.zeros((out, n))
    for row in range(out):
        at = _source(row, n, out, scale, align, cubic=False)
        low = min(int(at), n - 1)
        part = min(max(at - low, 0.0), 1.0)
        made[row, low] += 1.0 - part
        made[row, min(low + 1, n - 1)] += part
    return made


def cubic(n: int, out: int, scale: float | None, align: bool) -> Any:
    """The matrix of cubic convolution, with PyTorch's coefficient -0.75; the arguments are those of `linear`."""
    made, a = np.zeros((out, n)), -0.75
    for row in range(out):
        at = _source(row, n, out, scale, align, cubic=True)
        low = math.floor(at)
        part = at - low
        for step in (-1, 0, 1, 2):
            d = abs(part - step)
            if d <= 1:
                value = (a + 2) * d**3 - (a + 3) * d**2 + 1
            else:
                value = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
            made[row, min(max(low + step, 0), n - 1)] += value
    return made


__all__: list[str] = []
