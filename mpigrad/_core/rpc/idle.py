"""What a polling thread does when it finds no message: deferred work first, then housekeeping, then longer and longer naps."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._compiled import breathe
from mpigrad._core.mutex import Mutex

from ..future import discard
from .base import Transport

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._progress.handler import MessageHandler

    from ..future import Future
    from .lead import Lead

logger = logging.getLogger(__name__)

BURST = 24  # tests of the transport in one poll
GLANCE = 2  # the same after a nap
ACTIVE_SECONDS = 0.0002  # after activity: poll closely, keep the lead
YIELD_SECONDS = 0.001  # after activity, before naps: ranks that answer each other within this time never send each other to sleep
PATIENCE_SECONDS = 0.0005  # while large transfers are under way, before the core is yielded
TRANSFER_SECONDS = 60.0  # how long transfers that stand still keep this rank from napping
SHORTEST_NAP, LONGEST_NAP, IDLE_NAP = 0.00002, 0.002, 0.006  # the last once a second has passed
HOUSEKEEPING_SECONDS = 0.02
DEFERRED_MAX = 64  # pieces of deferred work; above it the oldest runs at once


class Idle:
    """The idle time of one agent's polling threads."""

    def __init__(self, transport: Transport, handler: MessageHandler, lead: Lead) -> None:
        self.active = 0.0 if transport.oversubscribed else ACTIVE_SECONDS
        self.burst = 1 if transport.oversubscribed else BURST
        self.next_housekeeping = 0.0
        self._transport, self._handler, self._lead = transport, handler, lead
        self._moving = 0.0  # when transfers were last seen under way
        self._deferred: deque[tuple[Callable[[Any], None], Any]] = deque()

    def run_when_idle(self, work: Callable[[Any], None], subject: Any) -> None:
        """Have `work(subject)`, library code that never blocks, run by the next thread whose poll finds nothing.

        A call waits for its answer soon, and the leader polls every few milliseconds. On a worker that is never idle, each
        piece beyond DEFERRED_MAX makes the oldest one run at once.
        """
        self._deferred.append((work, subject))
        if len(self._deferred) > DEFERRED_MAX:
            self._run_deferred()

    def _run_deferred(self) -> None:
        """Run the oldest piece of deferred work."""
        try:
            work, subject = self._deferred.popleft()
        except IndexError:
            return
        try:
            work(subject)
        except Exception:
            logger.exception("deferred work failed")

    def back_off(self, now: float, idle: float, fut: Future | None) -> None:
        """Yield the core, then nap for a share of the time that has been idle; not longer than until `fut` is done.

        Never spins without yielding: with both ends of a call on one core, each would keep the other from answering.
        """
        breathe()
        if self._deferred:
            self._run_deferred()
            return
        if now >= self.next_housekeeping:
            self.housekeep(now)
        if self._transport.pending():
            self._moving = now
            if idle > PATIENCE_SECONDS:
                os.sched_yield()
            if idle < TRANSFER_SECONDS:  # fragments move only while both ends call MPI
                return
        else:
            idle = min(idle, now - self._moving)  # an answer follows a transfer as it follows a message
            if idle < YIELD_SECONDS:
                os.sched_yield()
                return
        nap = idle * 0.125
        nap = SHORTEST_NAP if nap < SHORTEST_NAP else min(nap, LONGEST_NAP if idle < 1 else IDLE_NAP)
        if nap > 0.0002:
            self._lead.napping = True
        if fut is None:
            time.sleep(nap)
        else:
            lock = Mutex()
            lock.acquire()
            sleep_on(fut, lock, nap)

    def housekeep(self, now: float) -> None:
        """Let the agent do what is due."""
        self.next_housekeeping = now + HOUSEKEEPING_SECONDS
        try:
            self._handler.housekeep(now)
        except Exception:
            logger.exception("housekeeping failed")


def sleep_on(fut: Future, lock: Any, seconds: float) -> None:
    """Sleep until `fut` is done, `lock` is released, or the time is over."""
    breathe()
    fut._sleep(lock)
    lock.acquire(True, seconds)
    if fut._sleepers is not None:
        discard(fut._sleepers, lock)
