"""Compiled kernels for the host; see `kernels.pyx`. This is a stub without kernels: the callers use NumPy."""

from __future__ import annotations

from typing import Any


def find(name: str) -> int:
    """The number of a kernel for `run`; -1 if it was not compiled."""
    return -1


def run(number: int, arguments: tuple[Any, ...]) -> bool:
    """Run a kernel on NumPy arrays of one type; returns whether it ran."""
    return False
