"""Optimizers over several processes: `DistributedOptimizer` for RPC workers, `ZeroRedundancyOptimizer` for ranks of a process
group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ._clipping import clip_grad_norm_
    from ._scheduler import DistributedScheduler
    from .optimizer import DistributedOptimizer
    from .zero_redundancy_optimizer import ZeroRedundancyOptimizer
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["DistributedOptimizer", "DistributedScheduler", "ZeroRedundancyOptimizer", "clip_grad_norm_"]
