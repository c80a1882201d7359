"""`Distribution`: the base class, with shapes and checks."""

from __future__ import annotations

from typing import Any, ClassVar

from .._graph.grad_mode import no_grad
from .._ops.create.create import tensor
from .._ops.shape.broadcasting import broadcast_tensors
from .._tensor import Size, Tensor
from .constraints import Constraint, dependent


class Distribution:
    """Base class of distributions. An object is a batch (of shape `batch_shape`) of independent distributions of one
    kind.

    Samples have the shape sample_shape + batch_shape + event_shape. `validate_args`: whether parameters and values are
    checked, by default True.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    arg_constraints: ClassVar[dict[str, Constraint]] = {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values where `validate_args` is not given; True at first."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, got {value}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, constraint in self._constraints().items():
                if constraint is not dependent and name in self.__dict__:
                    self._check_argument(name, constraint)
        super().__init__()

    def _constraints(self) -> dict[str, Constraint]:
        """The constraints of the parameters; some depend on other parameters."""
        return self.arg_constraints

    def _check_argument(self, name: str, constraint: Constraint) -> None:
        value = getattr(self, name)
        if not constraint.check(value).all():
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{_shown(value)}"
            )

    # -- what it is --------------------------------------------------------------------------------------------------
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions; () for a single distribution."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one distribution; () for numbers."""
        return self._event_shape

    @property
    def support(self) -> Any:
        """The set of possible values, as a `Constraint`."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution, of the shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value of each distribution."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution: the root of `variance`."""
        return self.variance.sqrt()

    # -- what it does ------------------------------------------------------------------------------------------------
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples: a tensor of the shape sample_shape + batch_shape + event_shape, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draw samples as `sample` does, through which gradients flow to the parameters; NotImplementedError if there
        is no way to.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` samples: `sample((n,))`."""
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability (or of the density) of `value`, which is broadcast with the batch."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function: the probability of values up to `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: the value up to which the probability is `value`."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy of each distribution, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy of each distribution."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values of a discrete distribution, along a new first dimension.

        `expand` (default): repeat them for each distribution of the batch; otherwise the batch dimensions have length
        1.
        """
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distributions with parameters broadcast to the batch shape `batch_shape`."""
        raise NotImplementedError

    def _extended_shape(self, sample_shape: Any = ()) -> Size:
        return Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        first = value.ndim - len(self._event_shape)
        if tuple(value.shape[first:]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        wanted = tuple(self._batch_shape) + tuple(self._event_shape)
        for i, j in zip(reversed(value.shape), reversed(wanted)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {Size(wanted)}."
                )
        support = self.support
        if support is not dependent and not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{_shown(value)}"
            )

    def _expanded(self, batch_shape: Any, **parameters: Tensor) -> Any:
        """A copy whose parameters have the new shape already; they are not checked again."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.__dict__.update(parameters)
        made._batch_shape = Size(batch_shape)
        return made

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        shown = ", ".join(f"{name}: {_brief(self.__dict__[name])}" for name in names)
        return f"{type(self).__name__}({shown})"


def _brief(value: Tensor) -> Any:
    return value.item() if value.numel() == 1 else value.shape


def _shown(value: Tensor) -> Any:
    return value.item() if value.ndim == 0 else value


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Convert numbers and tensors to tensors of a common shape; numbers get the type of the tensors."""
    like = next((each for each in values if isinstance(each, Tensor)), None)
    if like is None:
        made = [tensor(float(each)) for each in values]
    else:
        made = [
            each if isinstance(each, Tensor) else tensor(each, dtype=like.dtype, device=like.device) for each in values
        ]
    return tuple(broadcast_tensors(*made))
