"""`Independent`: treats batch dimensions of a distribution as dimensions of one sample."""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor
from . import constraints
from .distribution import Distribution


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """The sum over the last dimensions."""
    return value if dims == 0 else value.sum(tuple(range(-dims, 0)))


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dimensions belong to one sample: `log_prob` sums
    over them.

    `validate_args`: whether parameters and values are checked, by default True.
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        shape = tuple(batch) + tuple(base_distribution.event_shape)
        event = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        cut = len(shape) - event
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether samples have gradients: as for the base distribution."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        held = self.base_dist.support
        dims = self.reinterpreted_batch_ndims
        return constraints.independent(held, dims) if dims else held

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def expand(self, batch_shape: Any, _instance: Any = None) -> Independent:
        shape = tuple(batch_shape) + tuple(self.event_shape[: self.reinterpreted_batch_ndims])
        return Independent(self.base_dist.expand(shape), self.reinterpreted_batch_ndims, validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


__all__ = ["Independent"]
