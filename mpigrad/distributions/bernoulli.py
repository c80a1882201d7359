"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from .._graph.grad_mode import no_grad
from .._ops.create.random import bernoulli
from .._ops.create.ranges import arange
from .._ops.elementwise.where import where
from .._tensor import Tensor
from ..nn.functional import binary_cross_entropy_with_logits
from . import constraints
from ._logits import Lazy, clamp_probs, one_of
from .distribution import Distribution, broadcast_all


class Bernoulli(Distribution):
    """The distribution of a number that is 1 with probability `probs`, otherwise 0.

    Give either `probs` or `logits`, the logarithm of the odds: log(p / (1 - p)). `validate_args`: whether parameters and
    values are checked, by default True.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        by_probs = one_of(probs, logits)
        (given,) = broadcast_all(probs if by_probs else logits)
        self.__dict__["probs" if by_probs else "logits"] = self._param = given
        super().__init__(given.shape, validate_args=validate_args)

    @Lazy
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self.logits.sigmoid()

    @Lazy
    def logits(self) -> Tensor:
        """The logarithms of the odds of 1."""
        probs = clamp_probs(self.probs)
        return probs.log() - (-probs).log1p()

    @property
    def param_shape(self) -> Any:
        """The shape of the parameters, `probs` or `logits`."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        probs = self.probs
        sure = (probs >= 0.5).to(probs.dtype)
        return where(probs == 0.5, probs * float("nan"), sure)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Bernoulli:
        names = [name for name in ("probs", "logits") if name in self.__dict__]
        held = {name: self.__dict__[name].expand(batch_shape) for name in names}
        return self._expanded(batch_shape, _param=self._param.expand(batch_shape), **held)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape(2, *(1,) * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values


__all__ = ["Bernoulli"]
