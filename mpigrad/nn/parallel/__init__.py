"""Modules on several ranks: `DistributedDataParallel`."""

from __future__ import annotations

from .distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel"]
