"""Normalisation to mean 0 and variance 1 over some dimensions, with a weight and a bias per feature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._graph.namespace import RAW
from mpigrad._kernels.layer_norm import layer_norm, layer_norm_backward

from .._define.operator import Operator, operator

Ints = tuple[int, ...]


def _forward(x: Any, w: Any, b: Any, *, stats: Ints, features: Ints, eps: float, view: Ints | None = None) -> Any:
    """Normalise `x`, multiply by `w` and add `b`.

    `stats` is the shape of mean and variance; `features` the shape from which weight and bias are broadcast; `view`
    the shape in which `x` is normalised, if that is not its own (groups of channels).
    """
    shape = x.shape
    if view is not None:
        x = x.reshape(view)
    rows = _rows(x.shape, stats) if x.size else None
    if rows is None:
        mean, y, var = _moments(x, stats)
        y *= _rstd(var, eps)
        return _scaled(y.reshape(shape), w, b, features), mean, var
    flat = x.reshape(rows)
    if view is None and _along_rows(rows, shape, features):
        y, mean, var = layer_norm(flat, None if w is None else w.ravel(), None if b is None else b.ravel(), eps=eps)
        return y.reshape(shape), mean.reshape(stats), var.reshape(stats)
    y, mean, var = layer_norm(flat, None, None, eps=eps)
    return _scaled(y.reshape(shape), w, b, features), mean.reshape(stats), var.reshape(stats)


def _rows(shape: Ints, stats: Ints) -> Ints | None:
    """(number of rows, length) if the statistics are those of contiguous rows of an array of this shape; otherwise None."""
    kept = len(stats)
    while kept and stats[kept - 1] == 1:
        kept -= 1
    rows = math.prod(stats[:kept])
    return (rows, math.prod(shape[kept:])) if stats[:kept] == shape[:kept] else None


def _along_rows(rows: Ints, shape: Ints, features: Ints) -> bool:
    """Whether weight and bias have one element for each element of a row."""
    return features == shape[len(shape) - len(features) :] and math.prod(features) == rows[1]


def _moments(x: Any, stats: Ints) -> tuple[Any, Any, Any]:
    """The mean of `x` over all dimensions that `stats`, the shape of the statistics, reduces; the differences from
    it; the variance.
    """
    axes = tuple(i for i, n in enumerate(stats) if n == 1)
    mean = x.mean(axis=axes, keepdims=True, dtype=x.dtype)
    # in two passes: E[x^2] - E[x]^2 would lose all digits if the mean is large
    y = x - mean
    return mean, y, (y * y).mean(axis=axes, keepdims=True, dtype=x.dtype)


def _rstd(var: Any, eps: float) -> Any:
    return 1 / np.sqrt(var + var.dtype.type(eps))


def _scaled(y: Any, w: Any, b: Any, features: Ints) -> Any:
    if w is not None:
        y *= w.reshape(features)
    if b is not None:
        y += b.reshape(features)
    return y


def _backward(F: Any, node: Any, grads: Any, x: Any, w: Any, mean: Any, var: Any) -> Any:
    kw, g = node.kw, grads[0]
    if g is None:
        return None, None, None
    stats, features, eps, view = kw["stats"], kw["features"], kw["eps"], kw.get("view")
    shape = node.shapes[0]
    count = math.prod(shape) / max(math.prod(stats), 1)
    # one kernel for all three gradients of layer normalisation, the usual case
    if F is RAW and view is None and w is not None and g.size and all(node.needs):
        rows = _rows(shape, stats)
        if rows is not None and _along_rows(rows, shape, features):
            found = layer_norm_backward(
                g.reshape(rows), x.reshape(rows), w.ravel(), mean.reshape(-1, 1), var.reshape(-1, 1), eps=eps
            )
            return tuple(each.reshape(own) for each, own in zip(found, node.shapes))
    if view is not None:
        x = x.reshape(view)
    if F is RAW:
        hat, rstd = x - mean, _rstd(var, eps)
        hat *= rstd
    else:  # for higher orders the statistics are functions of x
        centred = x - F.sum_to(x, shape=stats) / count
        rstd = (F.sum_to(centred * centred, shape=stats) / count + eps) ** -0.5
        hat = centred * rstd
    into_w, into_b = _parameters(F, node, g, hat, features)
    if not node.needs[0]:
        return None, into_w, into_b
    up = g if w is None else g * w.reshape(features)
    if view is not None:
        up = up.reshape(view)
    first = F.sum_to(up, shape=stats) / count
    second = F.sum_to(up * hat, shape=stats) / count
    # the mean and the variance depend on every element: their gradients are the two subtracted terms
    into_x = (up - first - hat * second) * rstd
    return into_x if view is None else into_x.reshape(shape), into_w, into_b


def _parameters(F: Any, node: Any, g: Any, hat: Any, features: Ints) -> tuple[Any, Any]:
    shapes, needs = node.shapes, node.needs
    wide = (1,) * (len(shapes[0]) - len(features)) + features
    into_w = F.sum_to(g * hat.reshape(shapes[0]), shape=wide).reshape(shapes[1]) if needs[1] else None
    into_b = F.sum_to(g, shape=wide).reshape(shapes[2]) if needs[2] else None
    return into_w, into_b


def _normalizer(name: str, node: str) -> Operator:
    return operator(name, _forward, _backward, saves=(0, 1, -2, -3), node=node)


batch = _normalizer("native_batch_norm", "NativeBatchNormBackward0")
instance = _normalizer("instance_norm", "ViewBackward0")
layer = _normalizer("native_layer_norm", "NativeLayerNormBackward0")
group = _normalizer("native_group_norm", "NativeGroupNormBackward0")


# -- with statistics that are given ------------------------------------------------------------------------------------
def _fixed_forward(x: Any, w: Any, b: Any, mean: Any, var: Any, *, features: Ints, eps: float) -> Any:
    y = x - mean.reshape(features)
    y *= _rstd(var, eps).reshape(features)
    return _scaled(y, w, b, features)


def _fixed_backward(F: Any, node: Any, g: Any, x: Any, w: Any, mean: Any, var: Any) -> Any:
    features, eps = node.kw["features"], node.kw["eps"]
    rstd = ((var + eps) ** -0.5).reshape(features)
    hat = (x - mean.reshape(features)) * rstd
    into_w, into_b = _parameters(F, node, g, hat, features)
    into_x = None
    if node.needs[0]:
        into_x = g * rstd if w is None else g * (rstd * w.reshape(features))
    return into_x, into_w, into_b, None, None


fixed = operator(
    "batch_norm_with_statistics",
    _fixed_forward,
    _fixed_backward,
    saves=(0, 1, 3, 4),
    node="NativeBatchNormBackward0",
)

__all__: list[str] = []
