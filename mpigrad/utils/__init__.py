"""Tools beside the library proper: data sets and loaders, files of other libraries."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = ("data", "safetensors")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"mpigrad.utils.{name}")
    raise AttributeError(f"module 'mpigrad.utils' has no attribute {name!r}")


__all__ = ["data", "safetensors"]
