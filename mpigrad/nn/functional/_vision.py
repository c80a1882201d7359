"""Rearranging images: interpolation, unfold and fold, pixel shuffling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops.nn import fold as folding
from mpigrad._ops.nn import resampling
from mpigrad._ops.nn.convolution import output_size

from ..._tensor import Tensor

Ints = int | Sequence[int]
_DIMENSIONS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def _both(value: Ints, n: int = 2) -> tuple[int, ...]:
    return (value,) * n if isinstance(value, int) else tuple(value) * (n if len(tuple(value)) == 1 else 1)


def _new_size(
    old: tuple[int, ...], size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    n = len(old)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,) * n
    if len(values) != n:
        what = "output" if size is not None else "scale_factor"
        raise ValueError(
            f"Input and {what} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(old)} and {what} of {given}"
        )
    if size is not None:
        return tuple(int(each) for each in values), (None,) * n
    out = tuple(int(math.floor(float(length) * each)) for length, each in zip(old, values))
    return out, (None,) * n if recompute else values


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize sequences, images or volumes: all dimensions of `input` after (batch, channels).

    - `size` or `scale_factor`: the new size or the factor, one number or one for each dimension. Exactly one of them
      is required.
    - `mode`: "nearest" (default), "nearest-exact", "linear" (sequences), "bilinear", "bicubic" (images), "trilinear"
      (volumes) or "area" (means).
    - `align_corners`: for the linear and cubic modes: whether the centres of the corner pixels keep their places
      (default: False).
    - `recompute_scale_factor`: compute positions from the rounded new size rather than from `scale_factor`.
    - `antialias`: not supported; True raises a ValueError.

    >>> import mpigrad
    >>> mpigrad.nn.functional.interpolate(mpigrad.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    need_tensors("interpolate", input=input)
    n = input.dim() - 2
    if antialias:
        raise ValueError("Anti-alias option is not supported: use antialias=False")
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif mode not in _DIMENSIONS:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
            f"(got {mode})"
        )
    elif _DIMENSIONS[mode] != input.dim():
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_DIMENSIONS[mode]}D input")
    old = tuple(input.shape[2:])
    out, scales = _new_size(old, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return resampling.adaptive_avg[n](input, matrices=tuple(map(resampling.means, old, out)))
    matrices = tuple(_matrix(mode, *each, bool(align_corners)) for each in zip(old, out, scales))
    return resampling.interpolation[mode, n](input, matrices=matrices)


def _matrix(mode: str, old: int, new: int, scale: float | None, align: bool) -> Any:
    if mode.startswith("nearest"):
        return resampling.nearest(old, new, scale, exact=mode == "nearest-exact")
    if mode == "bicubic":
        return resampling.cubic(old, new, scale, align)
    return resampling.linear(old, new, scale, align)


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """Deprecated name of `interpolate`; the arguments are the same."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The windows of a batch of images, each as a column: from (batch, channels, height, width) to (batch, channels *
    window size, windows).

    `kernel_size` is the size of a window; `dilation`, `padding` (zeros) and `stride` are those of a convolution; each
    is one number or two.

    >>> import mpigrad
    >>> mpigrad.nn.functional.unfold(mpigrad.ones(1, 2, 4, 4), 2).shape
    mpigrad.Size([1, 8, 9])
    """
    need_tensors("unfold", input=input)
    if input.dim() == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if input.dim() != 4:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    kernel, size = _both(kernel_size), tuple(input.shape[2:])
    how = {"stride": _both(stride), "padding": _both(padding), "dilation": _both(dilation)}
    if min(output_size(size, kernel, **how)) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={how['dilation']}, padding="
            f"{how['padding']}, calculated shape of the array of sliding blocks as "
            f"{output_size(size, kernel, **how)}, but its components must be at least one."
        )
    return folding.im2col(input, size=size, kernel=kernel, **how)


def fold(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Add up the columns of `unfold` to images (batch, channels, *output_size): its inverse where windows do not
    overlap.

    `input` is (batch, channels * window size, windows). `output_size` is the (height, width) of the images; the other
    arguments are those of `unfold`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.fold(mpigrad.ones(1, 4, 1), (2, 2), 2)
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    need_tensors("fold", input=input)
    if input.dim() == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    size, kernel = _both(output_size), _both(kernel_size)
    how = {"stride": _both(stride), "padding": _both(padding), "dilation": _both(dilation)}
    _check_fold(input, size, kernel, how)
    return folding.col2im(input, size=size, kernel=kernel, **how)


def _check_fold(input: Tensor, size: tuple[int, ...], kernel: tuple[int, ...], how: dict[str, Any]) -> None:
    if input.dim() != 3 or input.shape[1] % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[1] if input.dim() > 1 else None} and kernel_size={kernel}."
        )
    blocks = output_size(size, kernel, **how)
    if input.shape[2] != math.prod(blocks):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={how['dilation']}, padding={how['padding']}, "
            "stride="
            f"{how['stride']}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, blocks))} = {math.prod(blocks)}, but got input.size(2)={input.shape[2]}."
        )


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move channels into space: from (c * r * r, h, w) to (c, h * r, w * r), where r is `upscale_factor`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.pixel_shuffle(mpigrad.ones(1, 4, 2, 2), 2).shape
    mpigrad.Size([1, 1, 4, 4])
    """
    need_tensors("pixel_shuffle", input=input)
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    if input.shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return folding.shuffle(input, factor=upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`.

    From (c, h * r, w * r) to (c * r * r, h, w), where r is `downscale_factor`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.pixel_unshuffle(mpigrad.ones(1, 1, 4, 4), 2).shape
    mpigrad.Size([1, 4, 2, 2])
    """
    need_tensors("pixel_unshuffle", input=input)
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.dim()} "
            "dimension(s)"
        )
    for what, place in (("height", -2), ("width", -1)):
        if input.shape[place] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but input.size({place})="
                f"{input.shape[place]} is not divisible by {downscale_factor}"
            )
    return folding.unshuffle(input, factor=downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave the channels of `groups` equal groups: of each group the first channel, then of each the second, and
    so on.

    `input` is (batch, channels, ...); a RuntimeError is raised if the number of channels is not divisible by
    `groups`.

    >>> import mpigrad
    >>> mpigrad.nn.functional.channel_shuffle(mpigrad.ones(1, 4, 2, 2), 2).shape
    mpigrad.Size([1, 4, 2, 2])
    """
    need_tensors("channel_shuffle", input=input)
    if input.dim() < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0 or input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    return folding.mix(input, groups=groups)


__all__ = [
    "channel_shuffle",
    "fold",
    "interpolate",
    "pixel_shuffle",
    "pixel_unshuffle",
    "unfold",
    "upsample",
]
