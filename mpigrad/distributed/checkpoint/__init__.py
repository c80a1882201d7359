"""Checkpoints of models that are spread over workers."""

from __future__ import annotations

from ._checkpoint import load, save
from ._files import CheckpointError

__all__ = ["CheckpointError", "load", "save"]
