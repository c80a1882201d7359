"""Pooling of any number of dimensions: the largest or the mean of each window, and their derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module

from .._define.operator import operator
from .convolution import offsets, surrounded, within

Ints = tuple[int, ...]


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> Ints:
    """The number of windows. With `ceil_mode`, windows that extend beyond the end count as well, if they start before it."""
    found = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        room = n + 2 * p - d * (k - 1) - 1
        count = (-(-room // s) if ceil_mode else room // s) + 1
        # the last window must start inside the input or its left padding, as in PyTorch
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        found.append(count)
    return tuple(found)


def _reach(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Ints:
    """The length of the padded input that the windows cover, in each dimension."""
    return tuple(
        max(n + 2 * p, (o - 1) * s + d * (k - 1) + 1)
        for n, p, o, s, d, k in zip(size, padding, out, stride, dilation, kernel)
    )


def _surrounded(x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints, value: Any) -> Any:
    """The input with `value` around it, extended to the length that the windows cover."""
    size = x.shape[x.ndim - len(kernel) :]
    reach = _reach(size, kernel, stride, padding, dilation, out)
    return x if reach == size else surrounded(x, reach, padding, value)


def _positions(size: Ints, place: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Any:
    """For each window, the flat index into the unpadded input of the element at kernel position `place`."""
    found: Any = 0
    for n, k, s, p, d, o in zip(size, place, stride, padding, dilation, out):
        along = np.arange(o) * s + k * d - p
        found = np.asarray(found)[..., None] * n + along
    return found


def _max_pool(x: Any, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Any:
    xp, size = array_module(x), x.shape[x.ndim - len(kernel) :]
    lowest = -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min
    wide = _surrounded(x, kernel, stride, padding, dilation, out, lowest)
    best = where = None
    # one pass for each position in the kernel, over all windows: a few large array operations, no copy of the windows
    for place, at in offsets(kernel, stride, dilation, out):
        found, here = wide[(..., *at)], xp.asarray(_positions(size, place, stride, padding, dilation, out))
        if best is None:
            best, where = found.copy(), xp.broadcast_to(xp.maximum(here, 0), found.shape).copy()
            continue
        better = found > best
        if x.dtype.kind in "fV":
            better |= found != found  # nan counts as the largest, as in PyTorch
        xp.copyto(best, found, where=better)
        xp.copyto(where, here, where=better)
    return best, where


def _flat(x: Any, count: int) -> Any:
    """An array with its last `count` dimensions merged into one."""
    shape = x.shape
    return x.reshape(*shape[: len(shape) - count], math.prod(shape[len(shape) - count :]))


def _gather(x: Any, where: Any, *, size: Ints) -> Any:
    n = len(size)
    out = where.shape[where.ndim - n :]
    found = array_module(x).take_along_axis(_flat(x, n), _flat(where, n), axis=-1)
    return found.reshape(*found.shape[:-1], *out)


def _scatter(g: Any, where: Any, *, size: Ints) -> Any:
    """Zeros of the input's size, to which each gradient is added at the element that its window selected."""
    xp, n, front = array_module(g), len(size), g.shape[: g.ndim - len(size)]
    area, rows = math.prod(size), math.prod(front)
    into = xp.zeros(rows * area, g.dtype)
    starts = xp.arange(rows)[:, None] * area
    xp.add.at(into, (_flat(where, n).reshape(rows, -1) + starts).ravel(), g.ravel())
    return into.reshape(*front, *size)


gather_windows = operator(
    "gather_windows",
    _gather,
    lambda F, node, g, where: (F.scatter_windows(g, where, size=node.kw["size"]), None),
    saves=(1,),
    node="GatherBackward0",
)
scatter_windows = operator(
    "scatter_windows",
    _scatter,
    lambda F, node, g, where: (F.gather_windows(g, where, size=node.kw["size"]), None),
    saves=(1,),
    node="MaxPool2DWithIndicesBackwardBackward0",
)


def _title(n: int, name: str) -> str:
    """The name of the node of pooling over `n` dimensions; PyTorch computes one dimension as two, one of which has length one."""
    return "SqueezeBackward1" if n == 1 else name.format(n) + "Backward0"


def _max_backward(F: Any, node: Any, grads: Any, where: Any) -> Any:
    if grads[0] is None:
        return None
    n = node.kw.get("ndim") or len(node.kw["out"])
    return F.scatter_windows(grads[0], where, size=node.shapes[0][len(node.shapes[0]) - n :])


max_pool = {
    n: operator(
        f"max_pool{n}d_with_indices", _max_pool, _max_backward, saves=(-2,), node=_title(n, "MaxPool{}DWithIndices")
    )
    for n in (1, 2, 3)
}


# -- means -------------------------------------------------------------------------------------------------------------
def counts(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, out: Ints, include_pad: bool, divisor: int | None
) -> Any:
    """The number by which the sum of each window is divided, for average pooling.

    It is `divisor` if that is given, otherwise the number of elements in the window; `include_pad` counts those of the padding.
    """
    if divisor is not None:
        return float(divisor)
    found: Any = 1.0
    for n, k, s, p, o in zip(size, kernel, stride, padding, out):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        length = end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0)
        found = np.asarray(found)[..., None] * length
    first = found.flat[0] if found.size else 1.0
    # without padding at the border all windows have the same size: a number divides faster than an array
    return float(first) if (found == first).all() else found


def _divided(values: Any, by: Any) -> Any:
    return values / (values.dtype.type(by) if isinstance(by, float) else array_module(values).asarray(by, values.dtype))


def _avg_pool(x: Any, *, kernel: Ints, stride: Ints, padding: Ints, out: Ints, size: Ints, by: Any) -> Any:
    flat = (1,) * len(kernel)
    wide, total = _surrounded(x, kernel, stride, padding, flat, out, 0), None
    for _, at in offsets(kernel, stride, flat, out):
        if total is None:
            total = wide[(..., *at)].copy()
        else:
            total += wide[(..., *at)]
    return _divided(total, by)


def _avg_spread(g: Any, *, kernel: Ints, stride: Ints, padding: Ints, out: Ints, size: Ints, by: Any) -> Any:
    front, flat = g.shape[: g.ndim - len(kernel)], (1,) * len(kernel)
    reach = _reach(size, kernel, stride, padding, flat, out)
    made, share = array_module(g).zeros((*front, *reach), g.dtype), _divided(g, by)
    for _, at in offsets(kernel, stride, flat, out):
        made[(..., *at)] += share
    return made[within(size, padding)]


avg_pool = {
    n: operator(f"avg_pool{n}d", _avg_pool, lambda F, node, g: F.avg_spread(g, **node.kw), node=_title(n, "AvgPool{}D"))
    for n in (1, 2, 3)
}
operator("avg_spread", _avg_spread, lambda F, node, g: F.avg_pool2d(g, **node.kw), node="AvgPool2DBackwardBackward0")


# -- adaptive ----------------------------------------------------------------------------------------------------------
def bounds(n: int, out: int) -> list[tuple[int, int]]:
    """For each of `out` windows over `n` elements: the index of its first element, and one past its last."""
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _adaptive_max(x: Any, *, out: Ints, ndim: int) -> Any:
    xp, size = array_module(x), x.shape[x.ndim - ndim :]
    front = x.shape[: x.ndim - ndim]
    best, where = xp.empty((*front, *out), x.dtype), xp.empty((*front, *out), np.int64)
    index = xp.arange(math.prod(size)).reshape(size)
    edges = [bounds(n, o) for n, o in zip(size, out)]
    for place in np.ndindex(*out):
        at = tuple(slice(*edges[d][i]) for d, i in enumerate(place))
        part, ids = _flat(x[(..., *at)], ndim), index[at].ravel()
        chosen = part.argmax(axis=-1)
        best[(..., *place)] = xp.take_along_axis(part, chosen[..., None], axis=-1)[..., 0]
        where[(..., *place)] = ids[chosen]
    return best, where


adaptive_max_pool = {
    n: operator(
        f"adaptive_max_pool{n}d", _adaptive_max, _max_backward, saves=(-2,), node=_title(n, "AdaptiveMaxPool{}D")
    )
    for n in (1, 2, 3)
}

__all__: list[str] = []
