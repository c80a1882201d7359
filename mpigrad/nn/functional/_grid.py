"""Sampling of images at arbitrary positions: affine_grid and grid_sample."""

from __future__ import annotations

from collections.abc import Sequence

from mpigrad._ops._define.arguments import need_tensors
from mpigrad._ops.nn.grid_sample import affine_map, grid_samplers

from ..._tensor import Tensor

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Read images at the positions of `grid`, with interpolation: the result at each point is the image's value
    there.

    - `input`: (batch, channels, height, width), or (batch, channels, depth, height, width).
    - `grid`: (batch, out height, out width, 2), for volumes (batch, out depth, out height, out width, 3). The last
      dimension is (x, y) or (x, y, z), from -1 at the first to 1 at the last pixel. The result is (batch, channels,
      out height, out width).
    - `mode`: "bilinear" (default), "nearest" or "bicubic" (images only).
    - `padding_mode`: values outside the image: "zeros", "border" (the nearest pixel) or "reflection".
    - `align_corners`: whether -1 and 1 are the centres of the corner pixels (True) or their outer edges (False;
      default, with a warning).

    >>> import mpigrad
    >>> image = mpigrad.tensor([[[[1.0, 3.0]]]])
    >>> mpigrad.nn.functional.grid_sample(image, mpigrad.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[2.]]]])
    """
    need_tensors("grid_sampler", input=input, grid=grid)
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', " f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    _check_sizes(input, grid)
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    sampler = grid_samplers[input.ndim - 2]
    return sampler(input, grid, mode=mode, padding=padding_mode, align=bool(align_corners))


def _check_sizes(input: Tensor, grid: Tensor) -> None:
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {sizes}"
        )
    for place, size in enumerate(input.shape[2:], start=2):
        if size <= 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {place} being empty"
            )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Positions for `grid_sample` that transform images by affine maps: (batch, height, width, 2), for volumes (...,
    3).

    - `theta`: the maps, from positions in the result to positions in the input: (batch, 2, 3), for volumes (batch, 3,
      4).
    - `size`: the shape of the result of `grid_sample`, (batch, channels, height, width), for volumes (batch,
      channels, depth, height, width).
    - `align_corners`: as in `grid_sample`; use the same value.

    >>> import mpigrad
    >>> same = mpigrad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> mpigrad.nn.functional.affine_grid(same, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    need_tensors("affine_grid", theta=theta)
    size = tuple(size)
    if theta._array.dtype.kind not in "fV":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    rows = len(size) - 2
    if theta.ndim != 3 or theta.shape[-2] != rows or theta.shape[-1] != rows + 1:
        raise ValueError(
            f"Expected a batch of {rows}D affine matrices of shape Nx{rows}x{rows + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return affine_map(theta, size=size, align=bool(align_corners))


__all__ = ["affine_grid", "grid_sample"]
