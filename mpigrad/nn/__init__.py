"""Neural networks: modules, their parameters and functions."""

import importlib
from typing import Any

from . import functional, init, modules, parameter, utils
from .modules import *
from .modules import __all__ as _names  # type: ignore[attr-defined]
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *_names, "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
    "parameter", "utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `SyncBatchNorm` and `parallel` on first use: they need process groups, and these need MPI."""
    if name == "parallel":
        return importlib.import_module(f"{__name__}.parallel")
    if name == "SyncBatchNorm":
        return importlib.import_module(f"{__name__}.parallel").SyncBatchNorm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
