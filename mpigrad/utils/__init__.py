"""Utilities: data sets and loaders, activation checkpointing, DLPack, safetensors files."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = ("checkpoint", "data", "dlpack", "safetensors")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"mpigrad.utils.{name}")
    raise AttributeError(f"module 'mpigrad.utils' has no attribute {name!r}")


__all__ = ["checkpoint", "data", "dlpack", "safetensors"]
