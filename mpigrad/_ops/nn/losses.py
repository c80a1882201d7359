"""Losses of pairs of equal shape: mean squared, smooth L1, Huber, binary cross entropy, soft margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._define.operator import Operator, kernel, operator
from ..elementwise import arithmetic as arithmetic  # derivatives use its F.conj

kernel("inside", lambda x, *, limit: (np.abs(x) < limit).astype(x.dtype))
kernel("signs", np.sign)
kernel("shortfall", lambda x, *, limit: np.maximum(x.dtype.type(limit) - x, 0))


def reduced(values: Any, reduction: str) -> Any:
    """Reduce an array as `reduction` says: "none" (unchanged), "mean" or "sum"."""
    if reduction == "none":
        return values
    if values.ndim == 0:
        return values
    total = values.sum(dtype=values.dtype)
    return total / values.dtype.type(values.size) if reduction == "mean" else total  # nan without elements, but no warning


def _share(node: Any, g: Any) -> Any:
    """The gradient of each element of a loss, from the gradient `g` of the reduced loss: divided by their number for
    "mean".
    """
    if node.kw["reduction"] != "mean":
        return g
    return g / float(max(int(np.prod(np.broadcast_shapes(*node.shapes[:2]), dtype=np.int64)), 1))


def pairwise(name: str, values: Callable[..., Any], slope: Callable[..., Any], node: str) -> Operator:
    """Define a loss of the difference d of input and target: `values(d, **kw)` computes its elements, `slope(F, d, **kw)` their
    derivative.
    """

    def forward(x: Any, y: Any, *, reduction: str, **kw: Any) -> Any:
        return reduced(values(x - y, **kw), reduction)

    def backward(F: Any, made: Any, g: Any, x: Any, y: Any) -> Any:
        kw = {key: value for key, value in made.kw.items() if key != "reduction"}
        into = _share(made, g) * slope(F, x - y, **kw)
        first, second = made.needs
        return into if first else None, -into if second else None

    return operator(name, forward, backward, saves=(0, 1), node=node, broadcasts=True)


def _smooth_l1(d: Any, *, beta: float) -> Any:
    size = np.abs(d)
    return np.where(size < beta, size * size * d.dtype.type(0.5 / beta), size - d.dtype.type(0.5 * beta))


def _smooth_l1_slope(F: Any, d: Any, *, beta: float) -> Any:
    inside = F.inside(d, limit=beta)
    return inside * d * (1.0 / beta) + (1.0 - inside) * F.signs(d)


def _mse_forward(x: Any, y: Any, *, reduction: str) -> Any:
    d = x - y
    if reduction == "none":
        return d * d
    flat = d.ravel()
    total = flat @ flat
    return total / x.dtype.type(d.size) if reduction == "mean" and d.size else reduced(d * d, reduction)


def _mse_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    into = (x - y) * (_share(node, g) * 2.0)
    first, second = node.needs
    return into if first else None, -into if second else None


mse = operator("mse_loss", _mse_forward, _mse_backward, saves=(0, 1), node="MseLossBackward0", broadcasts=True)
smooth_l1 = pairwise("smooth_l1_loss", _smooth_l1, _smooth_l1_slope, "SmoothL1LossBackward0")
huber = pairwise(
    "huber_loss",
    lambda d, *, delta: d.dtype.type(delta) * _smooth_l1(d, beta=delta),
    lambda F, d, *, delta: _smooth_l1_slope(F, d, beta=delta) * float(delta),
    "HuberLossBackward0",
)


# -- binary cross entropy ----------------------------------------------------------------------------------------------
def _bce_forward(x: Any, y: Any, weight: Any = None, *, reduction: str) -> Any:
    one, low = x.dtype.type(1), x.dtype.type(-100)  # logarithms are limited to -100, as in PyTorch
    values = (y - one) * np.maximum(np.log1p(-x), low) - y * np.maximum(np.log(x), low)
    return reduced(values if weight is None else values * weight, reduction)


def _bce_backward(F: Any, node: Any, g: Any, x: Any, y: Any, weight: Any) -> Any:
    share = _share(node, g)
    if weight is not None:
        share = share * weight
    spread = x * (1.0 - x)
    into_x = share * (x - y) / (spread + F.shortfall(spread, limit=1e-12)) if node.needs[0] else None
    into_y = share * (F.log(1.0 - x) - F.log(x)) if node.needs[1] else None
    return into_x, into_y, None


def _log_terms(x: Any) -> Any:
    """log(1 + exp(-x)), without overflow."""
    return np.logaddexp(x.dtype.type(0), -x)


def _logits_forward(x: Any, y: Any, weight: Any = None, pos_weight: Any = None, *, reduction: str) -> Any:
    one = x.dtype.type(1)
    factor = one if pos_weight is None else (pos_weight - one) * y + one
    values = (one - y) * x + factor * _log_terms(x)
    return reduced(values if weight is None else values * weight, reduction)


def _logits_backward(F: Any, node: Any, g: Any, x: Any, y: Any, weight: Any, pos_weight: Any) -> Any:
    share = _share(node, g)
    if weight is not None:
        share = share * weight
    into_x = into_y = None
    if node.needs[0]:
        low = F.sigmoid(-x)
        into_x = share * (1.0 - y - (low if pos_weight is None else ((pos_weight - 1.0) * y + 1.0) * low))
    if node.needs[1]:
        into_y = share * (-x if pos_weight is None else (pos_weight - 1.0) * -F.logsigmoid_of(x) - x)
    return into_x, into_y, None, None


def _logsigmoid_of(x: Any) -> Any:
    return -_log_terms(x)


operator(
    "logsigmoid_of", _logsigmoid_of, lambda F, node, g, x: g * F.sigmoid(-x), saves=(0,), node="LogSigmoidBackward0"
)
bce = operator(
    "binary_cross_entropy",
    _bce_forward,
    _bce_backward,
    saves=(0, 1, 2),
    node="BinaryCrossEntropyBackward0",
    broadcasts=True,
)
bce_with_logits = operator(
    "binary_cross_entropy_with_logits",
    _logits_forward,
    _logits_backward,
    saves=(0, 1, 2, 3),
    node="BinaryCrossEntropyWithLogitsBackward0",
    broadcasts=True,
)
soft_margin = operator(
    "soft_margin_loss",
    lambda x, y, *, reduction: reduced(_log_terms(x * y), reduction),
    lambda F, node, g, x, y: (_share(node, g) * -y * F.sigmoid(-x * y), None),
    saves=(0, 1),
    node="SoftMarginLossBackward0",
    broadcasts=True,
)


__all__: list[str] = []
