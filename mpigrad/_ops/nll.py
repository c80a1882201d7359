"""Negative log likelihood of classes, over `pick` (read one class per place) and `spread` (write one), each the
other's derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from ._define import operator


def _pick(x: Any, target: Any, *, classes: int) -> Any:
    """The entries x[n, target[n, ...], ...]; target must be within range."""
    if x.ndim == 2:
        return x[array_module(x).arange(x.shape[0]), target]
    return array_module(x).take_along_axis(x, target[:, None], axis=1)[:, 0]


def _spread(g: Any, target: Any, *, classes: int) -> Any:
    """Zeros of `classes` classes, with g's entries at the targets."""
    xp = array_module(g)
    made = xp.zeros((g.shape[0], classes, *g.shape[1:]), g.dtype)
    if g.ndim == 1:
        made[xp.arange(g.shape[0]), target] = g
    else:
        xp.put_along_axis(made, target[:, None], g[:, None], axis=1)
    return made


pick = operator(
    "pick_class",
    _pick,
    lambda F, node, g, t: (F.spread_class(g, t, classes=node.kw["classes"]), None),
    saves=(1,),
    node="GatherBackward0",
)
spread = operator(
    "spread_class",
    _spread,
    lambda F, node, g, t: (F.pick_class(g, t, classes=node.kw["classes"]), None),
    saves=(1,),
    node="ScatterBackward0",
)


def _forward(x: Any, target: Any, scale: Any, *, reduction: str) -> Any:
    found = _pick(x, target, classes=0)
    if reduction == "none":
        return found * scale
    if reduction == "of nothing":
        return array_module(x).full((), np.nan, dtype=x.dtype)
    return (found.ravel() @ scale.ravel()).astype(x.dtype)


def _backward(F: Any, node: Any, g: Any, target: Any, scale: Any) -> Any:
    share = F.keep(g * scale, scale != 0)  # what is ignored gets 0 even of a gradient that is nan
    return F.spread_class(share, target, classes=node.shapes[0][1]), None, None


_nll = {
    2: operator("nll_loss", _forward, _backward, saves=(1, 2), node="NllLossBackward0"),
    4: operator("nll_loss2d", _forward, _backward, saves=(1, 2), node="NllLoss2DBackward0"),
}


def likelihood(ndim: int) -> Any:
    """The operator for inputs of so many dimensions: (log_probabilities, target, scale) -> sum of scale * picked."""
    return _nll[2 if ndim == 2 else 4]


def scale_of(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple[Any, Any, str]:
    """Safe targets, the factor of each place's log probability in the loss (minus its weight, 0 where ignored), and how
    their products are reduced."""
    xp = array_module(x)
    ignored = target == ignore_index
    some = bool(ignored.any())
    safe = xp.where(ignored, 0, target) if some else target
    _check_range(x, safe)
    if weight is None:
        scale = xp.full(target.shape, -1, x.dtype)
    else:
        scale = -weight[safe]
    if some:
        scale[ignored] = 0
    if reduction == "mean":
        total = scale.size if weight is None and not some else -scale.sum()
        if total:
            scale = scale / xp.asarray(total, dtype=x.dtype)
        else:  # the mean of nothing: nan, whose gradient PyTorch takes to be 0
            reduction = "of nothing"
    return safe, scale, reduction


def _check_range(x: Any, target: Any) -> None:
    if not target.size:
        return
    low, high = int(target.min()), int(target.max())
    if low < 0 or high >= x.shape[1]:
        wrong = target.ravel()[np.flatnonzero((target.ravel() < 0) | (target.ravel() >= x.shape[1]))[0]]
        raise IndexError(f"Target {int(wrong)} is out of bounds.")


__all__: list[str] = []
