"""Piecewise and gated activations: hard sigmoid and swish, mish, threshold, PReLU, GLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._define.operator import kernel, operator
from ..elementwise import arithmetic as arithmetic  # derivatives use its operators
from ..shape import padding as padding  # and F.constant_pad
from . import losses as losses  # and F.logsigmoid_of

kernel("above", lambda x, *, limit: (x > limit).astype(x.dtype))
kernel("between", lambda x, *, low, high: ((x > low) & (x < high)).astype(x.dtype))


def _hardswish(x: Any) -> Any:
    return x * np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6)


def _hardswish_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    inside = F.between(x, low=-3.0, high=3.0)
    return g * (inside * (x / 3.0 + 0.5) + (1.0 - inside) * F.above(x, limit=0.0))


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, x.dtype.type(0))


def _mish_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    t = F.tanh(-F.logsigmoid_of(-x))
    return g * (t + x * F.sigmoid(x) * (1.0 - t * t))


def _threshold(x: Any, *, threshold: float, value: float) -> Any:
    return np.where(x > threshold, x, x.dtype.type(value))


def _prelu_backward(F: Any, node: Any, g: Any, x: Any, w: Any) -> Any:
    up = F.above(x, limit=0.0)
    first, second = node.needs
    return g * (up + w * (1.0 - up)) if first else None, g * x * (1.0 - up) if second else None


def half_sides(ndim: int, dim: int, cut: int) -> tuple[Any, Any]:
    """The paddings that put the first and the second half of a dimension back into place; with opposite signs they cut the halves
    out.
    """
    flat = [(0, 0)] * ndim
    return tuple(tuple(side if i == dim else each for i, each in enumerate(flat)) for side in ((0, cut), (cut, 0)))  # type: ignore[return-value]


def _cut(sides: Any) -> Any:
    return tuple((-a, -b) for a, b in sides)


def _glu(x: Any, *, dim: int) -> Any:
    half = x.shape[dim] // 2
    front = (slice(None),) * dim
    b = x[(*front, slice(half, None))]
    return x[(*front, slice(None, half))] / (1 + np.exp(-b))


def _glu_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    dim = node.kw["dim"]
    first, second = half_sides(len(node.shapes[0]), dim, node.shapes[0][dim] // 2)
    a, b = F.constant_pad(x, sides=_cut(first), value=0), F.constant_pad(x, sides=_cut(second), value=0)
    s = F.sigmoid(b)
    return F.constant_pad(g * s, sides=first, value=0) + F.constant_pad(g * a * s * (1.0 - s), sides=second, value=0)


hardswish = operator("hardswish", _hardswish, _hardswish_backward, saves=(0,))
hardsigmoid = operator(
    "hardsigmoid",
    lambda x: np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6),
    lambda F, node, g, x: g * F.between(x, low=-3.0, high=3.0) * (1.0 / 6.0),
    saves=(0,),
)
mish = operator("mish", lambda x: x * np.tanh(_softplus(x)), _mish_backward, saves=(0,))
threshold = operator(
    "threshold", _threshold, lambda F, node, g, x: g * F.above(x, limit=node.kw["threshold"]), saves=(0,)
)
prelu = operator(
    "prelu_kernel",
    lambda x, w: np.where(x > 0, x, w * x),
    _prelu_backward,
    saves=(0, 1),
    node="PreluKernelBackward0",
    broadcasts=True,
)
glu = operator("glu", _glu, _glu_backward, saves=(0,))
kernel("outside", lambda x, *, limit: (np.abs(x) > limit).astype(x.dtype))
hardshrink = operator(
    "hardshrink",
    lambda x, *, limit: np.where(np.abs(x) <= limit, x.dtype.type(0), x),
    lambda F, node, g, x: g * F.outside(x, limit=node.kw["limit"]),
    saves=(0,),
)
softshrink = operator(
    "softshrink",
    lambda x, *, limit: x - np.clip(x, x.dtype.type(-limit), x.dtype.type(limit)),
    lambda F, node, g, x: g * F.outside(x, limit=node.kw["limit"]),
    saves=(0,),
)
scaled_by = operator(
    "rrelu_with_noise",
    lambda x, factor: x * factor,
    lambda F, node, g, factor: (g * factor, None),
    saves=(1,),
    node="RreluWithNoiseBackward0",
)

__all__: list[str] = []
