"""Timers: run an action of the agent after a delay. Timeouts, retries and delayed messages use them.

Any thread may add one. `housekeep` of the agent runs those that are due, on whichever thread polls then; so they must not block.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Timers:
    """Delayed actions of one agent, in the order of their times. Any thread may add one."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []  # a heap
        self._lock = threading.Lock()
        self._numbers = itertools.count()  # breaks ties: heap entries must not compare functions

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        """Have `run` called once, in `seconds` from now, on a thread that polls; it must not block."""
        with self._lock:
            heapq.heappush(self.waiting, (time.monotonic() + seconds, next(self._numbers), run))

    def run_due(self, now: float) -> None:
        """Run all actions that are due at `now` (seconds of `time.monotonic()`). Errors are logged."""
        while True:
            with self._lock:
                if not self.waiting or self.waiting[0][0] > now:
                    return
                run = heapq.heappop(self.waiting)[2]
            try:
                run()  # outside the lock, as it may add new actions
            except Exception:
                logger.exception("a delayed action failed")
