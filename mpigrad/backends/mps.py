"""Apple's GPUs, which are not supported."""

from __future__ import annotations


def is_available() -> bool:
    """Whether an Apple GPU can be used: always False."""
    return False


def is_built() -> bool:
    """Whether Apple GPUs are supported: always False."""
    return False


__all__ = ["is_available", "is_built"]
