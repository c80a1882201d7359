"""Checkpoints of models and optimizers that are distributed over RPC workers: in files (`save`, `load`) or in memory
(`Buddies`).

Terms (part, share, ...) are explained in docs/glossary.md.
"""

from __future__ import annotations

from ._buddies import Buddies
from ._checkpoint import load, save
from ._files import CheckpointError
from ._parts import Sharded

__all__ = ["Buddies", "CheckpointError", "Sharded", "load", "save"]
