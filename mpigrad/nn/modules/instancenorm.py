"""Instance normalisation: each channel of each sample is normalised to mean 0 and variance 1."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ..._tensor import Tensor
from .. import functional as F
from ._running import NormBase


class _InstanceNorm(NormBase):
    single: ClassVar[int]  # dimensions of one sample

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (self.single, self.single + 1):
            raise ValueError(f"expected {self.single}D or {self.single + 1}D input (got {input.ndim}D input)")
        channel = input.ndim - self.single
        if input.shape[channel] != self.num_features:
            said = (
                f"expected input's size at dim={channel} to match num_features ({self.num_features}), but got: "
                f"{input.shape[channel]}."
            )
            if self.affine:
                raise ValueError(said)
            warnings.warn(said.rstrip(".") + ", which is not used because affine is False", stacklevel=2)
        return self._normalised(input) if channel else self._normalised(input.unsqueeze(0)).squeeze(0)

    def _normalised(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of sequences (batch, channels, length): each channel of each sample gets mean 0 and
    variance 1.

    - `affine` (default: False): multiply by the parameter `weight` and add `bias` afterwards, one number for each
      channel.
    - `track_running_stats` (default: False): keep running statistics with `momentum`, and use them in evaluation.
    - `device`, `dtype`: those of the parameters.
    """

    single = 2


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of images (batch, channels, height, width). The arguments are those of `InstanceNorm1d`.
    """

    single = 3


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of volumes (batch, channels, depth, height, width). The arguments are those of
    `InstanceNorm1d`.
    """

    single = 4


__all__ = ["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]
