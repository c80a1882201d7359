"""The base class of batch and instance normalisation: an affine map and running statistics."""

from __future__ import annotations

from typing import Any

from mpigrad._array.dtype import int64

from ..parameter import Parameter
from ._blank import ones, zeros
from .module import Module


class NormBase(Module):
    """Base class of normalisations per channel: weight, bias and running statistics, each of which can be switched
    off.
    """

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(num_features, **where)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, **where)) if affine and bias else None)
        track = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **where) if track else None)
        self.register_buffer("running_var", ones(num_features, **where) if track else None)
        self.register_buffer("num_batches_tracked", zeros(device=device, dtype=int64) if track else None)

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0, the running variance to 1 and the count of batches to 0."""
        if self.track_running_stats:
            self.running_mean._array[...] = 0
            self.running_var._array[...] = 1
            self.num_batches_tracked._array[...] = 0

    def reset_parameters(self) -> None:
        """Reset the running statistics, the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            self.weight._array[...] = 1
        if self.bias is not None:
            self.bias._array[...] = 0

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any) -> None:
        """Load a state; states of old versions lack the count of batches, which then stays unchanged."""
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)
