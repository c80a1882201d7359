"""The errors of `jit.script`, under PyTorch's module path."""

from __future__ import annotations

from ._ir.errors import FrontendError, NotSupportedError, UnsupportedNodeError

__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError"]
