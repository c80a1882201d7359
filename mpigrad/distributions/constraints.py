"""Constraints: sets of allowed values for parameters, or of possible values of a distribution."""

from __future__ import annotations

from typing import Any

from .._core.tensor import wrap
from .._tensor import Tensor


class Constraint:
    """A set of allowed values; `check(value)` says for each value whether it is in the set."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value (or each event, of the last `event_dim` dimensions) is allowed: a tensor of bools."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return type(self).__name__.lstrip("_").replace("_", "") + "()"


class _Dependent(Constraint):
    """A constraint that depends on other parameters, so that it cannot be checked alone."""

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # only nan is not equal to itself


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        array = value._array
        return wrap((array >= 0).all(axis=-1) & (abs(array.sum(axis=-1) - 1) < 1e-6))


class _GreaterThan(Constraint):
    """The constraint that values are larger than `lower_bound`."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound

    def __repr__(self) -> str:
        return f"GreaterThan(lower_bound={_shown(self.lower_bound)})"


class _GreaterThanEq(_GreaterThan):
    """The constraint that values are at least `lower_bound`."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound

    def __repr__(self) -> str:
        return f"GreaterThanEq(lower_bound={_shown(self.lower_bound)})"


class _LessThan(Constraint):
    """The constraint that values are smaller than `upper_bound`."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound

    def __repr__(self) -> str:
        return f"LessThan(upper_bound={_shown(self.upper_bound)})"


class _Interval(Constraint):
    """The constraint that values are between `lower_bound` and `upper_bound`, both included."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"Interval(lower_bound={_shown(self.lower_bound)}, upper_bound={_shown(self.upper_bound)})"


class _IntegerInterval(_Interval):
    """The constraint that values are integers between `lower_bound` and `upper_bound`, both included."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        whole = value % 1 == 0
        return whole & super().check(value)

    def __repr__(self) -> str:
        return "Integer" + super().__repr__()


class _Independent(Constraint):
    """The constraint that in events of `reinterpreted_batch_ndims` dimensions every element satisfies the constraint
    `base_constraint`.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        array = self.base_constraint.check(value)._array
        return wrap(array.all(axis=tuple(range(array.ndim - self.reinterpreted_batch_ndims, array.ndim))))

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        import numpy as np

        array = value._array
        lower = (np.tril(array) == array).all(axis=(-2, -1))
        return wrap(lower & (np.diagonal(array, axis1=-2, axis2=-1) > 0).all(axis=-1))


class _PositiveDefinite(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        import numpy as np

        array = value._array
        symmetric = np.isclose(array, np.swapaxes(array, -2, -1), atol=1e-6).all(axis=(-2, -1))
        return wrap(symmetric & (np.linalg.eigvalsh(array) > 0).all(axis=-1))


def _shown(bound: Any) -> Any:
    if isinstance(bound, Tensor):
        return bound.item() if bound.numel() == 1 else bound
    return bound


dependent, real, boolean, simplex = _Dependent(), _Real(), _Boolean(), _Simplex()
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, integer_interval, independent = _Interval, _IntegerInterval, _Independent
nonnegative_integer = _GreaterThanEq(0)
real_vector, lower_cholesky, positive_definite = _Independent(real, 1), _LowerCholesky(), _PositiveDefinite()

__all__ = [
    "Constraint",
    "boolean",
    "dependent",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "less_than",
    "lower_cholesky",
    "nonnegative",
    "nonnegative_integer",
    "positive",
    "positive_definite",
    "real",
    "real_vector",
    "simplex",
    "unit_interval",
]
