"""Optimizers whose parameters are distributed over workers."""

from __future__ import annotations

from ._clipping import clip_grad_norm_
from ._scheduler import DistributedScheduler
from .optimizer import DistributedOptimizer
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["DistributedOptimizer", "DistributedScheduler", "ZeroRedundancyOptimizer", "clip_grad_norm_"]
