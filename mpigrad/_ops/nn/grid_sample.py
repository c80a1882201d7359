"""Sampling of images at arbitrary positions: affine grids, and interpolation of the values there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor

from .._define.composite import composite

CUBIC = -0.75  # coefficient of the cubic interpolation, as in PyTorch


def _places(where: Tensor, size: int, align: bool) -> Tensor:
    """Convert positions from -1 to 1 to pixel coordinates; `align` is `align_corners`: -1 is the centre of the first pixel."""
    return (where + 1) * ((size - 1) / 2) if align else ((where + 1) * size - 1) / 2


def _inside(at: Tensor, size: int, padding: str, align: bool) -> Tensor:
    """Move positions into the image according to the padding mode; `align` as in `_places`."""
    if padding == "zeros":
        return at
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        span = high - low
        if not span:
            return at * 0
        way = (at - low).abs()
        turns = (way.detach() / span).floor()
        rest = way - turns * span
        odd = turns % 2
        at = rest + odd * (span - rest * 2) + low
    return at.clamp(0, size - 1)


def _read(image: Tensor, at: Sequence[Tensor], padding: str) -> Tensor:
    """The pixels at integer coordinates; zero outside of the image."""
    sizes = image.shape[2:]
    flat, known = None, None
    for numbers, size in zip(at, sizes):
        fits = (numbers >= 0) & (numbers < size)
        known = fits if known is None else known & fits
        clipped = numbers.clamp(0, size - 1).long()
        flat = clipped if flat is None else flat * size + clipped
    assert flat is not None and known is not None
    count, channels = image.shape[:2]
    places = flat.reshape(count, 1, -1).expand(count, channels, -1)
    found = image.reshape(count, channels, -1).gather(2, places).reshape(count, channels, *flat.shape[1:])
    return found * known.unsqueeze(1).to(found.dtype) if padding == "zeros" else found


def _linear(image: Tensor, at: list[Tensor], padding: str) -> Tensor:
    total: Any = None
    below = [each.detach().floor() for each in at]
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight: Any = None
        for step, each, low in zip(corner, at, below):
            part = each - low if step else low + 1 - each
            weight = part if weight is None else weight * part
        value = _read(image, [low + step for step, low in zip(corner, below)], padding) * weight.unsqueeze(1)
        total = value if total is None else total + value
    return total


def _cubic_weights(t: Tensor) -> list[Tensor]:
    a = CUBIC

    def outer(x: Tensor) -> Tensor:
        return ((x - 5) * x + 8) * x * a - 4 * a

    def inner(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    return [outer(t + 1), inner(t), inner(1 - t), outer(2 - t)]


def _cubic(image: Tensor, at: list[Tensor], padding: str, align: bool) -> Tensor:
    below = [each.detach().floor() for each in at]
    rows, columns = (_cubic_weights(each - low) for each, low in zip(at, below))
    total: Any = None
    for i, j in itertools.product(range(4), repeat=2):
        near = [
            _inside(low + (step - 1), size, padding, align)
            for step, low, size in zip((i, j), below, image.shape[2:])
        ]
        value = _read(image, near, padding) * (rows[i] * columns[j]).unsqueeze(1)
        total = value if total is None else total + value
    return total


def _sampled(image: Tensor, grid: Tensor, *, mode: str, padding: str, align: bool) -> Tensor:
    sizes = image.shape[2:]
    at = [_places(grid[..., -1 - i], size, align) for i, size in enumerate(sizes)]  # the grid's last number is the depth
    if mode == "bicubic":
        return _cubic(image, at, padding, align)
    at = [_inside(each, size, padding, align) for each, size in zip(at, sizes)]
    if mode == "nearest":
        nothing = grid.sum(-1).masked_fill(wrap(array_module(grid._array).asarray(True)), 0)  # the gradient is zero, not None
        return _read(image, [each.detach().round() for each in at], padding) + nothing.unsqueeze(1)
    return _linear(image, at, padding)


def _line(like: Any, size: int, align: bool) -> Any:
    xp = array_module(like)
    if size <= 1:
        return xp.zeros(size, like.dtype)
    made = xp.linspace(-1, 1, size)
    return (made if align else made * ((size - 1) / size)).astype(like.dtype)


def _mapped(theta: Tensor, *, size: tuple[int, ...], align: bool) -> Tensor:
    xp = array_module(theta._array)
    lines = [_line(theta._array, each, align) for each in size[2:]]
    axes = xp.meshgrid(*lines, indexing="ij")
    base = wrap(xp.stack([*reversed(axes), xp.ones_like(axes[0])], axis=-1))
    flat = base.reshape(1, -1, len(size) - 1) @ theta.transpose(1, 2)
    return flat.reshape(size[0], *size[2:], len(size) - 2)


grid_samplers = {
    2: composite("grid_sampler_2d", _sampled, 2, node="GridSampler2DBackward0"),
    3: composite("grid_sampler_3d", _sampled, 2, node="GridSampler3DBackward0"),
}
affine_map = composite("affine_grid_generator", _mapped, 1, node="AffineGridGeneratorBackward0")

__all__: list[str] = []
