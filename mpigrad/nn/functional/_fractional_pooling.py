"""`fractional_max_pool`: max pooling over windows at random positions, as many as the output size requires."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops._define.guarded import guarded
from mpigrad._ops.create.random import rand

from ..._core.tensor import wrap
from ..._tensor import Tensor
from .._sizes import tuple_of


def _starts(sample: float, size: int, out: int, kernel: int) -> list[int]:
    """The starts of `out` windows of length `kernel` along a dimension of length `size`; `sample` in [0, 1) is the
    random number.

    The last window ends at the edge.
    """
    if out == 1:
        return [size - kernel]
    step = (size - kernel) / (out - 1)
    return [int((place + sample) * step) - int(sample * step) for place in range(out - 1)] + [size - kernel]


def _wanted(name: str, n: int, sizes: Any, output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        return tuple(int(size * ratio) for size, ratio in zip(sizes, tuple_of(output_ratio, n)))
    return tuple_of(output_size, n)


def _fractional(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, indices: bool, samples: Tensor | None
) -> Any:
    name = f"fractional_max_pool{n}d"
    need_tensors(name, input=input)
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(f"{name}: Expected {n + 1}D or {n + 2}D tensor, but got {list(input.shape)}")
    batched = input if input.dim() == n + 2 else input.unsqueeze(0)
    sizes = batched.shape[2:]
    kernel = tuple_of(kernel_size, n)
    out = _wanted(name, n, sizes, output_size, output_ratio)
    for size, k, o in zip(sizes, kernel, out):
        if o + k - 1 > size:
            raise RuntimeError(f"{name}: kernel size {k} and output size {o} are too large for an input of size {size}")
    if samples is None:
        samples = rand(batched.shape[0], batched.shape[1], n, dtype=input.dtype, device=input.device)
    where = _places(batched._array, kernel, out, samples)
    found = batched.flatten(2).gather(2, wrap(where.reshape(*where.shape[:2], -1))).reshape(where.shape)
    made = wrap(where)
    if input.dim() != n + 2:
        found, made = found.squeeze(0), made.squeeze(0)
    return (found, made) if indices else found


def _places(x: Any, kernel: tuple[int, ...], out: tuple[int, ...], samples: Tensor) -> Any:
    """For each output, the index of its maximum in the flattened input."""
    xp = array_module(x)
    chances, n = samples.detach().cpu().numpy(), len(out)
    where = xp.empty((*x.shape[:2], *out), np.int64)
    numbers = xp.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:])
    for batch, channel in np.ndindex(*x.shape[:2]):
        axes = []
        for d in range(n):  # for images, the random samples are given from the last dimension on
            sample = chances[batch, channel, 1 - d if n == 2 else d]
            starts = _starts(float(sample), x.shape[2 + d], out[d], kernel[d])
            axes.append(xp.asarray(starts)[:, None] + xp.arange(kernel[d]))
        grid = tuple(
            axis.reshape(tuple(axis.shape[0] if e == d else axis.shape[1] if e == n + d else 1 for e in range(2 * n)))
            for d, axis in enumerate(axes)
        )
        windows = x[batch, channel][grid].reshape(*out, -1)
        places = xp.broadcast_to(numbers[grid], (*out, *kernel)).reshape(*out, -1)
        best = windows.argmax(-1)
        where[batch, channel] = xp.take_along_axis(places, best[..., None], -1)[..., 0]
    return where


@guarded
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of `output_size` windows at random positions of an image.

    - `input`: (batch, channels, height, width), or without batch. `kernel_size`: the size of a window, one number or
      two.
    - `output_size`: the size of the result, one number or two; or `output_ratio`, the result's size divided by the
      input's, between 0 and 1. One of the two is required.
    - `return_indices`: also return the index of each maximum in the flattened image, for `max_unpool2d`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.fractional_max_pool2d(mpigrad.ones(1, 1, 7, 7), 2, output_size=(4, 5)).shape
    mpigrad.Size([1, 1, 4, 5])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@guarded
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest element of each of `output_size` windows at random positions of a volume (batch, channels, depth,
    height, width).

    The arguments are those of `fractional_max_pool2d`, with three numbers for sizes and ratios.

    >>> import mpigrad
    >>> mpigrad.nn.functional.fractional_max_pool3d(mpigrad.ones(1, 1, 5, 5, 5), 2, output_size=3).shape
    mpigrad.Size([1, 1, 3, 3, 3])
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


__all__ = ["fractional_max_pool2d", "fractional_max_pool3d"]
