"""Switches of cuDNN, which mpigrad does not use: they are stored and have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Whether cuDNN is used: always False.

    >>> import mpigrad
    >>> mpigrad.backends.cudnn.is_available()
    False
    """
    return False


def version() -> int | None:
    """The version of cuDNN: always None."""
    return None


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> Iterator[None]:
    """A context manager that changes the stored switches inside the block; they have no effect."""
    names = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    before = {name: globals()[name] for name in names}
    globals().update(names)
    try:
        yield
    finally:
        globals().update(before)


__all__ = ["flags", "is_available", "version"]
