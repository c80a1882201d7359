"""Apple's GPUs, which are not supported."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is one that can be used: never."""
    return False


def is_built() -> bool:
    """Whether there is support for them: no."""
    return False


__all__ = ["is_available", "is_built"]
