"""Timers: actions of the agent that run after a delay, on the thread that does the housekeeping at that time."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Timers:
    """Delayed actions, run in the order of their times by `run_due`."""

    def __init__(self) -> None:
        self.waiting: list[tuple[float, int, Callable[[], None]]] = []  # a heap
        self._lock = threading.Lock()
        self._numbers = itertools.count()  # actions of the same time run in the order in which they were added

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        """Call `run`, which must not block, after so many seconds."""
        with self._lock:
            heapq.heappush(self.waiting, (time.monotonic() + seconds, next(self._numbers), run))

    def run_due(self, now: float) -> None:
        """Call everything whose time has come."""
        while True:
            with self._lock:
                if not self.waiting or self.waiting[0][0] > now:
                    return
                run = heapq.heappop(self.waiting)[2]
            try:
                run()
            except Exception:
                logger.exception("a delayed action failed")
