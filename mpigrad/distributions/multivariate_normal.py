"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from .._ops.create.random import randn
from .._ops.shape.broadcasting import broadcast_shapes
from .._tensor import Tensor
from ..linalg import cholesky, inv, solve_triangular
from . import constraints
from ._logits import Lazy
from .distribution import Distribution


def _log_diagonal(tril: Tensor) -> Tensor:
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _half_of_inverse(precision: Tensor) -> Tensor:
    """The lower triangular factor of the covariance, from the precision matrix."""
    return cholesky(inv(precision))


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with the mean `loc`.

    Give one of `covariance_matrix`, `precision_matrix` (its inverse) and `scale_tril`, the lower triangular L with
    covariance L L^T. `validate_args`: whether parameters and values are checked, by default True.

    >>> import mpigrad
    >>> from mpigrad.distributions import MultivariateNormal
    >>> MultivariateNormal(mpigrad.zeros(2), mpigrad.eye(2)).log_prob(mpigrad.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.ndim < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        width = loc.shape[-1]
        self.loc = loc.expand((*batch, width))
        self.__dict__[name] = matrix.expand((*batch, width, width))
        super().__init__(batch, (width,), validate_args=validate_args)
        self._unbroadcasted_scale_tril = _factor(name, matrix)

    @Lazy
    def scale_tril(self) -> Tensor:
        """The lower triangular factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape)

    @Lazy
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        half = self._unbroadcasted_scale_tril
        return (half @ half.transpose(-2, -1)).expand(self._matrix_shape)

    @Lazy
    def precision_matrix(self) -> Tensor:
        """The precision matrix, the inverse of the covariance."""
        half = self._unbroadcasted_scale_tril
        return inv(half @ half.transpose(-2, -1)).expand(self._matrix_shape)

    @property
    def _matrix_shape(self) -> tuple[int, ...]:
        return (*self._batch_shape, *self._event_shape, *self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand((*self._batch_shape, *self._event_shape))

    def expand(self, batch_shape: Any, _instance: Any = None) -> MultivariateNormal:
        width = self._event_shape[0]
        names = [name for name in self.arg_constraints if name != "loc" and name in self.__dict__]
        held = {name: self.__dict__[name].expand((*batch_shape, width, width)) for name in names}
        return self._expanded(batch_shape, loc=self.loc.expand((*batch_shape, width)), **held)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half = self._unbroadcasted_scale_tril
        apart = (value - self.loc).unsqueeze(-1)
        shape = broadcast_shapes(tuple(apart.shape[:-2]), tuple(half.shape[:-2]))
        whitened = solve_triangular(
            half.expand((*shape, *half.shape[-2:])), apart.expand((*shape, *apart.shape[-2:])), upper=False
        )
        distance = whitened.squeeze(-1).pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - _log_diagonal(half)

    def entropy(self) -> Tensor:
        width = self._event_shape[0]
        found = 0.5 * width * (1.0 + math.log(2 * math.pi)) + _log_diagonal(self._unbroadcasted_scale_tril)
        return found.expand(self._batch_shape) if self._batch_shape else found


def _factor(name: str, matrix: Tensor) -> Tensor:
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else _half_of_inverse(matrix)


__all__ = ["MultivariateNormal"]
