"""Measures how long threads that serve calls wait for Python's global interpreter lock: one sample per call, if switched on."""

from __future__ import annotations

import select
import threading
from time import perf_counter_ns
from typing import Any

from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument

from .._protocol import extensions


class _Waits(Instrument):
    """Releases Python's lock (the GIL) before each served call, and measures how long it takes to get it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._total = self._count = 0

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        """Measure once, before a call is served, how long the thread waits for the lock."""
        start = perf_counter_ns()
        select.select((), (), (), 0)  # returns at once, without the lock in between
        waited = perf_counter_ns() - start
        with self._lock:
            self._total, self._count = self._total + waited, self._count + 1

    def numbers(self) -> dict[str, Any]:
        """Return the average wait so far in microseconds, as an entry of the debug information; 0 before the first call."""
        return {"agent.gil_average_wait_time_us": self._total / 1000 / max(1, self._count)}


_waits: _Waits | None = None


def enable_gil_profiling(flag: bool) -> None:
    """Switch on (True) or off a measurement: how long calls that are served here wait for Python's global interpreter lock.

    The average in microseconds is `agent.gil_average_wait_time_us` of the agent's `get_debug_info()`.
    """
    global _waits
    if _waits is not None and not flag:
        INSTRUMENTS.remove(_waits)
        _waits = None
    elif _waits is None and flag:
        _waits = _Waits()
        INSTRUMENTS.add(_waits)


extensions.agent_info_hooks.append(lambda: {} if _waits is None else _waits.numbers())
