"""Modules on several ranks: `DistributedDataParallel`, `SyncBatchNorm`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._sync_batch_norm import SyncBatchNorm
    from .distributed import DistributedDataParallel
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["DistributedDataParallel", "SyncBatchNorm"]
