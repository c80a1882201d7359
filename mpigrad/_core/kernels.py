"""Kernel bodies on the host, in C: see `kernels.pyx`. This is the plain form: there are none, and NumPy does the work."""

from __future__ import annotations

from typing import Any


def find(name: str) -> int:
    """The number of a kernel for `run`; -1 if it was not compiled."""
    return -1


def run(number: int, arguments: tuple[Any, ...]) -> bool:
    """Run a kernel on NumPy arrays of one type; whether that was possible."""
    return False
