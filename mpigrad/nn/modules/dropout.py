"""Dropout: in training, some elements or channels are set to zero."""

from __future__ import annotations

from typing import ClassVar

from ..._tensor import Tensor
from .. import functional as F
from .module import Module


class _DropoutNd(Module):
    function: ClassVar[str]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, set each element to zero with probability `p` and divide the others by 1 - p; no effect in
    evaluation. With `inplace=True` the result overwrites `input`.
    """

    function = "dropout"


class Dropout1d(_DropoutNd):
    """In training, set whole channels of sequences (batch, channels, length) to zero with probability `p`, and divide
    the others by 1 - p. With `inplace=True` the result overwrites `input`.
    """

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """In training, set whole channels of images (batch, channels, height, width) to zero with probability `p`, and
    divide the others by 1 - p. With `inplace=True` the result overwrites `input`.
    """

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """In training, set whole channels of volumes (batch, channels, depth, height, width) to zero with probability
    `p`, and divide the others by 1 - p. With `inplace=True` the result overwrites `input`.
    """

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout for networks with `SELU`: in training, elements are replaced by SELU's negative saturation value with
    probability `p`, and all are scaled and shifted so that mean 0 and variance 1 are kept.
    """

    function = "alpha_dropout"

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self.function)(input, self.p, self.training)


class FeatureAlphaDropout(AlphaDropout):
    """`AlphaDropout` of whole channels (dimension 1)."""

    function = "feature_alpha_dropout"


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
