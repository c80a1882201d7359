"""The clock of a simulation: inside of it, `time.monotonic` is the clock of the worker that runs, and futures wait for events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mpigrad._core import future
from mpigrad._core.rpc import calls


@contextmanager
def virtual_time(now: Callable[[], float | None], wait: Callable[[Any, float | None], bool]) -> Iterator[None]:
    """Use `now()` where it is not None, and `wait(fut, deadline)` where it returns True, instead of the process's own."""
    real = time.monotonic

    def monotonic() -> float:
        at = now()
        return real() if at is None else at

    holders: tuple[tuple[Any, str], ...] = ((time, "monotonic"), (calls, "_monotonic"))
    for holder, name in holders:
        setattr(holder, name, monotonic)
    future.set_block_hook(wait)
    try:
        yield
    finally:
        future.set_block_hook(None)
        for holder, name in holders:
            setattr(holder, name, real)
