"""The profiler of `mpigrad.autograd.profiler` under its older path, which programs for RPC import."""

from __future__ import annotations

from .profiler import profile

__all__ = ["profile"]
