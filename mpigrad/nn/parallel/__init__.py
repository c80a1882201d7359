"""Modules on several ranks: `DistributedDataParallel`, `SyncBatchNorm`."""

from __future__ import annotations

from ._sync_batch_norm import SyncBatchNorm
from .distributed import DistributedDataParallel

__all__ = ["DistributedDataParallel", "SyncBatchNorm"]
