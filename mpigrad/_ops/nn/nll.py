"""Negative log likelihood of classes, built on two operators that are each other's derivative.

`pick` reads the value of one class at each position, `spread` writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module, host
from mpigrad._graph.namespace import RAW
from mpigrad._kernels import nll as kernels

from .._define.operator import operator

pick = operator(
    "pick_class",
    lambda x, target, *, classes: kernels.pick(x, target),
    lambda F, node, g, t: (F.spread_class(g, t, classes=node.kw["classes"]), None),
    saves=(1,),
    node="GatherBackward0",
)
spread = operator(
    "spread_class",
    lambda g, target, *, classes: kernels.spread(g, target, classes),
    lambda F, node, g, t: (F.pick_class(g, t, classes=node.kw["classes"]), None),
    saves=(1,),
    node="ScatterBackward0",
)


def _forward(x: Any, target: Any, scale: Any, *, reduction: str) -> Any:
    if reduction == "of nothing":
        return array_module(x).full((), np.nan, dtype=x.dtype)
    return kernels.nll(x, target, scale, summed=reduction != "none")


def _backward(F: Any, node: Any, g: Any, target: Any, scale: Any) -> Any:
    classes = node.shapes[0][1]
    if F is RAW:
        return kernels.nll_backward(g, target, scale, classes=classes), None, None
    share = F.keep(g * scale, scale != 0)  # ignored targets get 0 even if the gradient is nan
    return F.spread_class(share, target, classes=classes), None, None


_nll = {
    2: operator("nll_loss", _forward, _backward, saves=(1, 2), node="NllLossBackward0"),
    4: operator("nll_loss2d", _forward, _backward, saves=(1, 2), node="NllLoss2DBackward0"),
}


def likelihood(ndim: int) -> Any:
    """The operator for inputs with this number of dimensions: (log_probabilities, target, scale) -> sum of scale * picked values.
    """
    return _nll[2 if ndim == 2 else 4]


def scale_of(x: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> tuple[Any, Any, str]:
    """Return three values for the loss: targets, factors and reduction.

    Ignored targets are replaced by a valid class; the factor of a position is minus its weight, 0 where ignored.
    """
    safe, scale, total, wrong = kernels.scales(x, target, weight, ignore_index)
    if wrong:
        flat = host(target).ravel()
        bad = flat[(flat != ignore_index) & ((flat < 0) | (flat >= x.shape[1]))]
        raise IndexError(f"Target {int(bad[0])} is out of bounds.")
    if reduction == "mean":
        if total:
            scale = scale / x.dtype.type(total)
        else:  # the mean of no elements is nan; PyTorch gives it the gradient 0
            reduction = "of nothing"
    return safe, scale, reduction


__all__: list[str] = []
