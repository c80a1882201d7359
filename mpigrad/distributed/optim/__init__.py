"""Optimizers whose parameters are distributed over workers."""

from __future__ import annotations

from ._clipping import clip_grad_norm_
from ._scheduler import DistributedScheduler
from .optimizer import DistributedOptimizer

__all__ = ["DistributedOptimizer", "DistributedScheduler", "clip_grad_norm_"]
