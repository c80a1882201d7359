"""PyTorch's older module path of `mpigrad.autograd.profiler`, which programs import."""

from __future__ import annotations

from .profiler import profile

__all__ = ["profile"]
