"""Checkpoints of models that are spread over workers."""

from __future__ import annotations

from ._checkpoint import CheckpointError, load, save

__all__ = ["CheckpointError", "load", "save"]
