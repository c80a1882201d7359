"""Batch normalisation: each channel is normalised to mean 0 and variance 1 over the batch."""

from __future__ import annotations

from ..._tensor import Tensor, counter
from .. import functional as F
from ._running import NormBase


class _BatchNorm(NormBase):
    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def _count_batch(self) -> float:
        """Count this batch if statistics are kept; returns the weight of its statistics in the running ones."""
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked._array[...] += 1
            counter(self.num_batches_tracked)[0] += 1
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked._array)
        return factor

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor = self._count_batch()
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None and self.running_var is None,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of vectors (batch, channels) or sequences (batch, channels, length).

    Each of `num_features` channels is normalised to mean 0 and variance 1 (`eps` is added to it): in training with
    the statistics of the batch, in evaluation with running statistics, unless `track_running_stats=False`.

    - `momentum`: the weight of a new batch in the running statistics; None for the plain mean of all batches.
    - `affine`: multiply by the parameter `weight` and add the parameter `bias` afterwards, one number for each
      channel.
    - `device`, `dtype`: those of the parameters.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images (batch, channels, height, width). The arguments are those of `BatchNorm1d`."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 4:
            raise ValueError(f"expected 4D input (got {input.ndim}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes (batch, channels, depth, height, width). The arguments are those of
    `BatchNorm1d`.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 5:
            raise ValueError(f"expected 5D input (got {input.ndim}D input)")


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"]
