"""Convolution of any number of dimensions, as matrix products over windows.

Three trilinear operators: `conv` (input, weight), and the gradients of its input and of its weight. Each one's
derivatives are the other two, so that gradients of any order need nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from mpigrad._array.device import array_module

from .._define.operator import operator

CHUNK = 1 << 21  # elements of windows copied at a time, so that they stay in the cache for the product
Ints = tuple[int, ...]


def output_size(size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The number of windows along each dimension; all arguments have one number for each."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(size, kernel, stride, padding, dilation)
    )


def padded(x: Any, padding: Ints, value: float = 0) -> Any:
    """An array with `value` added around its last dimensions; the array itself if the padding is zero."""
    if not any(padding):
        return x
    size = x.shape[x.ndim - len(padding) :]
    return surrounded(x, tuple(n + 2 * p for n, p in zip(size, padding)), padding, value)


def surrounded(x: Any, reach: Ints, padding: Ints, value: float) -> Any:
    """An array whose last dimensions have the lengths `reach`: `x` at offset `padding`, and `value` elsewhere."""
    front, size = x.shape[: x.ndim - len(padding)], x.shape[x.ndim - len(padding) :]
    made = array_module(x).full((*front, *reach), value, dtype=x.dtype)
    made[within(size, padding)] = x
    return made


def within(size: Ints, padding: Ints) -> tuple[Any, ...]:
    """The index that selects, from an array padded by `padding`, the unpadded part of the size `size`."""
    return (..., *(slice(p, p + n) for n, p in zip(size, padding)))


def windows(x: Any, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Any:
    """A view of shape (*front, *kernel, *out): element [k, o] is x[o * stride + k * dilation]."""
    front = x.ndim - len(kernel)
    steps = x.strides[front:]
    return array_module(x).lib.stride_tricks.as_strided(
        x,
        (*x.shape[:front], *kernel, *out),
        (*x.strides[:front], *(s * d for s, d in zip(steps, dilation)), *(s * t for s, t in zip(steps, stride))),
    )


def offsets(kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> Iterator[tuple[Ints, tuple[Any, ...]]]:
    """For each position in the kernel: the position, and the slices of the padded input by which it is multiplied."""
    for place in np.ndindex(*kernel):
        yield place, tuple(slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, out, stride))


def _parts(count: int, each: int) -> Iterator[slice]:
    step = max(1, CHUNK // max(each, 1))
    return (slice(i, min(i + step, count)) for i in range(0, count, step))


def _conv(x: Any, w: Any, *, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    kernel, (count, channels) = w.shape[2:], x.shape[:2]
    out = output_size(x.shape[2:], kernel, stride, padding, dilation)
    made = array_module(x).empty((count, groups, w.shape[0] // groups, math.prod(out)), x.dtype)
    flat, x = w.reshape(groups, w.shape[0] // groups, -1), padded(x, padding)
    rows = channels // groups * math.prod(kernel)
    for part in _parts(count, groups * rows * math.prod(out)):
        # reshape copies the windows, each element as often as it occurs in one: so only a part of the batch at a time
        columns = windows(x[part], kernel, stride, dilation, out).reshape(-1, groups, rows, math.prod(out))
        np.matmul(flat, columns, out=made[part])
    return made.reshape(count, w.shape[0], *out)


def _conv_input(g: Any, w: Any, *, size: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    kernel, out, count = w.shape[2:], g.shape[2:], g.shape[0]
    each = w.shape[1]
    made = array_module(g).zeros((count, groups, each, *(n + 2 * p for n, p in zip(size, padding))), g.dtype)
    flat = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(-1, -2)
    g = g.reshape(count, groups, w.shape[0] // groups, math.prod(out))
    for part in _parts(count, groups * each * math.prod(kernel) * math.prod(out)):
        columns = np.matmul(flat, g[part]).reshape(-1, groups, each, *kernel, *out)
        into = made[part]
        # windows overlap, so they are added position by position: within one position no element repeats
        for place, where in offsets(kernel, stride, dilation, out):
            into[(..., *where)] += columns[(slice(None), slice(None), slice(None), *place)]
    return made[within(size, padding)].reshape(count, groups * each, *size)


def _conv_weight(g: Any, x: Any, *, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    out, (count, channels) = g.shape[2:], x.shape[:2]
    each, rows = g.shape[1] // groups, channels // groups * math.prod(kernel)
    made = array_module(g).zeros((groups, each, rows), g.dtype)
    x, g = padded(x, padding), g.reshape(count, groups, each, math.prod(out))
    for part in _parts(count, groups * rows * math.prod(out)):
        columns = windows(x[part], kernel, stride, dilation, out).reshape(-1, groups, rows, math.prod(out))
        made += np.matmul(g[part], columns.swapaxes(-1, -2)).sum(axis=0)
    return made.reshape(groups * each, channels // groups, *kernel)


def _geometry(node: Any) -> dict[str, Any]:
    return {key: node.kw[key] for key in ("stride", "padding", "dilation", "groups")}


def _bias_gradient(F: Any, g: Any) -> Any:
    channels = g.shape[1]
    return F.sum_to(g, shape=(1, channels, *(1,) * (len(g.shape) - 2))).reshape(channels)


def _with_bias(made: Any, b: Any) -> Any:
    if b is not None:
        made += b.reshape(-1, *(1,) * (made.ndim - 2))
    return made


def _conv_backward(F: Any, node: Any, g: Any, x: Any, w: Any) -> Any:
    how, (xs, ws) = _geometry(node), node.shapes[:2]
    bias = _bias_gradient(F, g) if len(node.edges) > 2 and node.edges[2] is not None else None
    return (
        None if w is None else F.conv_input(g, w, size=xs[2:], **how),
        None if x is None else F.conv_weight(g, x, kernel=ws[2:], **how),
        bias,
    )[: len(node.edges)]


def _conv_input_backward(F: Any, node: Any, h: Any, g: Any, w: Any) -> Any:
    how = _geometry(node)
    bias = _bias_gradient(F, h) if len(node.edges) > 2 and node.edges[2] is not None else None
    into_g = None if w is None else _cut(F, F.conv(h, w, **how), node.shapes[0])
    into_w = None if g is None else F.conv_weight(g, h, kernel=node.shapes[1][2:], **how)
    return (into_g, into_w, bias)[: len(node.edges)]


def _cut(F: Any, x: Any, shape: Ints) -> Any:
    """Cut the result of a convolution to `shape`, the shape of the input for which it is the gradient.

    It is larger if a transposed convolution had an `output_padding` of at least its stride: then the kernel fits into the output
    at more places than the input has elements.
    """
    return x if x.shape == shape else F.take_key(x, key=tuple(slice(0, n) for n in shape))


def _conv_weight_backward(F: Any, node: Any, h: Any, g: Any, x: Any) -> Any:
    how = _geometry(node)
    return (
        None if x is None else _cut(F, F.conv(x, h, **how), node.shapes[0]),
        None if g is None else F.conv_input(g, h, size=node.shapes[1][2:], **how),
    )


NODE = "ConvolutionBackward0"
EITHER = ((0, 1), (1, 0))
conv = operator("conv", lambda x, w, b=None, **kw: _with_bias(_conv(x, w, **kw), b), _conv_backward, EITHER, node=NODE)
conv_input = operator(
    "conv_input",
    lambda g, w, b=None, **kw: _with_bias(_conv_input(g, w, **kw), b),
    _conv_input_backward,
    EITHER,
    node=NODE,
)
conv_weight = operator("conv_weight", _conv_weight, _conv_weight_backward, EITHER, node=NODE)

__all__: list[str] = []
