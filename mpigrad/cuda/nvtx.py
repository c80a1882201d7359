"""Marks and ranges of the host's work for NVIDIA's profilers (Nsight Systems)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._array import device as seam


def _nvtx() -> Any:
    """CuPy's NVTX functions; raises PyTorch's error if CuPy is missing."""
    try:
        return seam.cupy().cuda.nvtx
    except RuntimeError as error:
        raise RuntimeError(f"NVTX functions not installed. Are you sure you have a CUDA build? {error}") from error


class _Open(threading.local):
    """The number of open ranges of this thread, which CuPy does not return."""

    depth = 0


def range_push(msg: str) -> int:
    """Open a range named `msg`, nested in the ranges that are open; returns its depth, from 0."""
    _nvtx().RangePush(msg)
    _Open.depth += 1
    return _Open.depth - 1


def range_pop() -> int:
    """Close the range that was opened last; returns its depth."""
    _nvtx().RangePop()
    _Open.depth -= 1
    return _Open.depth


def mark(msg: str) -> None:
    """Set a mark named `msg` at the current time."""
    _nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range around a part of the program: `with mpigrad.cuda.nvtx.range("step {}", 3):`, or a decorator."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()


__all__ = ["mark", "range", "range_pop", "range_push"]
