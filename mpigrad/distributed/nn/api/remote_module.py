"""The path under which PyTorch has RemoteModule."""

from __future__ import annotations

from .._remote_module import RemoteModule

__all__ = ["RemoteModule"]
