"""Profiling: `profile` records the operators of this process; `trace_workers` records one trace of all RPC workers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..autograd.profiler import record_function
from ..autograd.profiler_util import DeviceType
from ._profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

if TYPE_CHECKING:
    from ._workers.trace import trace_workers

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
    "trace_workers",
]


def __getattr__(name: str) -> Any:
    """Load `trace_workers` on first use: it needs RPC, which is a layer above this package."""
    if name == "trace_workers":
        return importlib.import_module("mpigrad.profiler._workers.trace").trace_workers
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
