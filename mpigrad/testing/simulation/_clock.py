"""The clock of a simulation: `time.monotonic` is the clock of the worker that runs, and futures wait for events."""

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
    # Modules that use `time.monotonic` look it up in `time`, except `calls`, which has a reference of its own.
    places: tuple[tuple[Any, str], ...] = ((time, "monotonic"), (time, "perf_counter"), (calls, "_monotonic"))
    real = [getattr(module, name) for module, name in places]
    for (module, name), clock in zip(places, real):
        setattr(module, name, _either(now, clock))
    future.set_block_hook(wait)
    try:
        yield
    finally:
        future.set_block_hook(None)
        for (module, name), clock in zip(places, real):
            setattr(module, name, clock)


def _either(now: Callable[[], float | None], real: Callable[[], float]) -> Callable[[], float]:
    def clock() -> float:
        at = now()
        return real() if at is None else at

    return clock
