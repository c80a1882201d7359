"""Versions, under PyTorch's names."""

from __future__ import annotations

from ._version import __version__

cuda: str | None = None  # depends on CuPy's libraries at run time
hip: str | None = None
debug = False

__all__ = ["__version__"]
