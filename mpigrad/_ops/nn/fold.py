"""`unfold` (windows as columns) and `fold` (sum of columns at their positions), which are each other's derivative; pixel
shuffling.
"""

from __future__ import annotations

import math
from typing import Any

from mpigrad._array.device import array_module

from .._define.operator import operator
from .convolution import offsets, output_size, padded, windows, within

Ints = tuple[int, ...]


def _im2col(x: Any, *, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    out = output_size(size, kernel, stride, padding, dilation)
    view = windows(padded(x, padding), kernel, stride, dilation, out)
    return view.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)).copy()


def _col2im(x: Any, *, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Any:
    out = output_size(size, kernel, stride, padding, dilation)
    channels = x.shape[1] // math.prod(kernel)
    made = array_module(x).zeros((x.shape[0], channels, *(n + 2 * p for n, p in zip(size, padding))), x.dtype)
    columns = x.reshape(x.shape[0], channels, *kernel, *out)
    for place, at in offsets(kernel, stride, dilation, out):
        made[(..., *at)] += columns[(slice(None), slice(None), *place)]
    return made[within(size, padding)]


im2col = operator("im2col", _im2col, lambda F, node, g: F.col2im(g, **node.kw), node="Im2ColBackward0")
col2im = operator("col2im", _col2im, lambda F, node, g: F.im2col(g, **node.kw), node="Col2ImBackward0")


def _shuffle(x: Any, *, factor: int) -> Any:
    *front, c, h, w = x.shape
    parts = x.reshape(math.prod(front), c // factor**2, factor, factor, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*front, c // factor**2, h * factor, w * factor)


def _unshuffle(x: Any, *, factor: int) -> Any:
    *front, c, h, w = x.shape
    parts = x.reshape(math.prod(front), c, h // factor, factor, w // factor, factor).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*front, c * factor**2, h // factor, w // factor)


def _mix(x: Any, *, groups: int) -> Any:
    n, c, *rest = x.shape
    return x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)


shuffle = operator(
    "pixel_shuffle", _shuffle, lambda F, node, g: F.pixel_unshuffle(g, **node.kw), node="PixelShuffleBackward0"
)
unshuffle = operator(
    "pixel_unshuffle", _unshuffle, lambda F, node, g: F.pixel_shuffle(g, **node.kw), node="PixelUnshuffleBackward0"
)
mix = operator(
    "channel_shuffle",
    _mix,
    lambda F, node, g: F.channel_shuffle(g, groups=node.shapes[0][1] // node.kw["groups"]),
    node="ChannelShuffleBackward0",
)

__all__: list[str] = []
