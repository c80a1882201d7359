"""Two parametrizations: weight normalisation and spectral normalisation."""

from __future__ import annotations

from typing import Any

from mpigrad._ops.create.random import randn

from ..._graph.grad_mode import no_grad
from ..._tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization


def _norm_except(v: Tensor, dim: int) -> Tensor:
    """The norms of the slices along one dimension (-1: the norm of the whole tensor), shaped so that they broadcast to it."""
    dims = [each for each in range(v.ndim) if dim == -1 or each != dim % v.ndim]
    return v.pow(2).sum(dims, keepdim=True).sqrt()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight as g * v / ||v||, and train the norms g and the directions v separately; returns the
    module.

    `name` is the parameter. The norms are taken for each index of dimension `dim`, with `dim=None` over the whole
    tensor.

    >>> from mpigrad import nn
    >>> list(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)).state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        if dim >= weight.ndim or dim < -weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = self._matrix(weight)
                rows, columns = matrix.shape
                where: dict[str, Any] = {"dtype": weight.dtype, "device": weight.device}
                self.register_buffer("_u", F.normalize(randn(rows, **where), dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(randn(columns, **where), dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.transpose(0, self.dim).flatten(1)

    @no_grad()
    def _iterate(self, matrix: Tensor, count: int) -> None:
        """One step of the power iteration for the first singular vectors."""
        for _ in range(count):
            self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.transpose(0, 1) @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which is estimated by power iteration; returns the module.

    - `name`: the parameter; `dim`: its dimension of outputs, by default 0 (1 for transposed convolutions).
    - `n_power_iterations`: steps of the iteration in each training forward; `eps`: avoids division by zero.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


__all__ = ["spectral_norm", "weight_norm"]
