"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from .._array.dtype import finfo, int64
from .._ops.create.random import multinomial
from .._ops.create.ranges import arange
from .._ops.shape.broadcasting import broadcast_shapes
from .._tensor import Size, Tensor
from . import constraints
from ._logits import Lazy, clamp_probs, one_of
from .distribution import Distribution


class Categorical(Distribution):
    """The distribution of an index that is drawn with given probabilities, those along the last dimension of the
    parameter.

    Give either `probs`, weights that are normalised to the sum 1, or `logits`, their logarithms up to a constant.
    `validate_args`: whether parameters and values are checked, by default True.

    >>> import mpigrad
    >>> from mpigrad.distributions import Categorical
    >>> Categorical(mpigrad.tensor([0.25, 0.75])).log_prob(mpigrad.tensor(1))
    tensor(-0.2877)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        by_probs = one_of(probs, logits)
        name = "probs" if by_probs else "logits"
        given: Any = probs if by_probs else logits
        if given.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if by_probs:
            given = given / given.sum(-1, keepdim=True)
        else:
            given = given - given.logsumexp(dim=-1, keepdim=True)
        self.__dict__[name] = self._param = given
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @Lazy
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.logits.softmax(-1)

    @Lazy
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return clamp_probs(self.probs).log()

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameters, `probs` or `logits`."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self._param.detach()[..., 0] * float("nan")

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def expand(self, batch_shape: Any, _instance: Any = None) -> Categorical:
        shape = (*batch_shape, self._num_events)
        names = [name for name in ("probs", "logits") if name in self.__dict__]
        held = {name: self.__dict__[name].expand(shape) for name in names}
        return self._expanded(batch_shape, _param=self._param.expand(shape), **held)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        flat = self.probs.detach().reshape(-1, self._num_events)
        drawn = multinomial(flat, sample_shape.numel(), True).transpose(0, 1)
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = value.to(int64).unsqueeze(-1)
        shape = broadcast_shapes(tuple(value.shape), tuple(self.logits.shape))
        index = value.expand(*shape[:-1], 1)
        return self.logits.expand(shape).gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(self._num_events, device=self._param.device)
        values = values.reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


__all__ = ["Categorical"]
