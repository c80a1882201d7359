"""The lead: which thread polls for messages. State that waiting threads and the pool share; `pool.py` has the rules."""

from __future__ import annotations

from collections import deque
from typing import Any

from mpigrad._core.mutex import Mutex

from ..future import release


class Lead:
    """Who holds the lead, who wants it, and what its holder is doing. Fields are written under the GIL, without a lock."""

    def __init__(self) -> None:
        self.lock = Mutex()  # held by the thread that polls
        self.wanted_by: deque[Any] = deque()  # waiters that want the lead from the pool
        self.parked: deque[Any] = deque()  # locks of waiters that sleep because another thread polls
        self.polled_by_waiter = False
        self.poller = 0  # the waiting thread that polls
        self.leader = 0  # the pool thread that takes a message in, with the lead in hand
        self.just_served = False  # the leader has just served a request: waiters had better leave it in place
        self.napping = False  # the holder of the lead finds nothing to do
        self.ticking = False  # there is a monitor

    def wake_parked(self) -> None:
        """Wake the waiter that has slept longest: it may take the lead."""
        try:
            release(self.parked.popleft())
        except IndexError:
            pass
