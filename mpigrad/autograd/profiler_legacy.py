"""The profiler by its older path, which programs for RPC import: the one of `mpigrad.autograd.profiler`."""

from __future__ import annotations

from .profiler import profile

__all__ = ["profile"]
