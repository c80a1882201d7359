"""Resizing of images, sequences and volumes."""

from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class Upsample(Module):
    """Resize sequences, images or volumes to `size`, or by `scale_factor`; the arguments are those of
    `nn.functional.interpolate`.

    >>> import mpigrad
    >>> from mpigrad import nn
    >>> nn.Upsample(scale_factor=2)(mpigrad.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size, self.mode = type(self).__name__, size, mode
        self.scale_factor = _floats(scale_factor)
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        how = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{how}, mode={self.mode!r}"


def _floats(factor: Any) -> Any:
    if isinstance(factor, tuple):
        return tuple(float(each) for each in factor)
    return float(factor) if factor else None


class UpsamplingNearest2d(Upsample):
    """Resize images (batch, channels, height, width) to `size`, or by `scale_factor`, by nearest-neighbour
    interpolation.
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images (batch, channels, height, width) to `size`, or by `scale_factor`, by bilinear interpolation.

    The centres of the corner pixels of input and output coincide (`align_corners=True`).
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
