"""`RemoteModule`: modules on other workers."""

from __future__ import annotations

from ._remote_module import RemoteModule

__all__ = ["RemoteModule"]
