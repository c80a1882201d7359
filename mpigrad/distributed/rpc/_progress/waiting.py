"""Waiting: a thread that waits for a future polls for messages itself, as long as that is of use.

See `_progress/pool.py` for the words and the invariants.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._compiled import breathe
from mpigrad._mutex import Mutex
from mpigrad.futures._future import block, discard, release

from .send_queue import Sending

if TYPE_CHECKING:
    from mpigrad.futures._future import Future

    from .._transport.base import Transport

logger = logging.getLogger(__name__)

BURST = 24  # tests of one look for messages
GLANCE = 2  # the same after a nap
ACTIVE_SECONDS = 0.0002  # after activity: look closely, keep the lead
YIELD_SECONDS = 0.001  # after activity, before naps: ranks that answer each other within this time never send each other to sleep
PATIENCE_SECONDS = 0.0005  # while large transfers are under way, before anybody else may have the core
TRANSFER_SECONDS = 60.0  # how long transfers that stand still keep this rank from napping
SHORTEST_NAP, LONGEST_NAP, IDLE_NAP = 0.00002, 0.002, 0.006  # the last once a second has passed
SLICE = 0.25  # longest sleep of a parked thread between two looks at the world
HOUSEKEEPING_SECONDS = 0.02
LATER = 64  # pieces of work that may wait for somebody with nothing to do

_monotonic = time.monotonic
_get_ident = threading.get_ident


class Waiting(Sending):
    """The waiting half of `Progress`."""

    def __init__(
        self,
        transport: Transport,
        receive: Callable[[Any, Future | None], Any],
        housekeep: Callable[[float], None],
        send_failed: Callable[[int, bytes, Exception], None],
    ) -> None:
        super().__init__(transport, send_failed)
        self.submit: Callable[[Any], bool]  # these four are methods of `Progress`
        self._staff: Callable[[], bool]
        self._ensure_monitor: Callable[[], None]
        self._enqueue: Callable[[Any], None]
        self._receive = receive  # (frame, what the thread waits for) -> None, or the user work that the frame asks for
        self._housekeep = housekeep
        self._next_housekeeping = 0.0
        self._role = Mutex()  # the lead
        self._wanting: deque[Any] = deque()  # waiters that want the lead from the pool
        self._parked: deque[Any] = deque()  # locks of waiters that sleep because another waiter polls
        self._polled_by_waiter = False
        self._poller = 0  # the waiting thread that polls
        self._leader = 0  # the pool thread that takes a message in, with the lead in hand
        self._hot = False  # the leader has just served a request: waiters had better leave it in place
        self._napping = False  # whoever has the lead finds nothing to do
        self._moving = 0.0  # when transfers were last seen under way
        self._ticking = False  # there is a monitor
        self._jobs: deque[Any] = deque()
        self._later: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._blocked: deque[None] = deque()  # one entry for each pool thread that sleeps in a wait
        self._threads: dict[int, threading.Thread] = {}
        self._stopping = False
        self._active = 0.0 if transport.oversubscribed else ACTIVE_SECONDS
        self._burst = 1 if transport.oversubscribed else BURST

    def wait(self, fut: Future, deadline: float | None) -> None:
        """Make progress until `fut` is done or the deadline has passed."""
        role = self._role
        while not fut._state:
            breathe()
            if self._stopping:
                block(fut, deadline)
                return
            handed_over = False
            if role.acquire(False) or self._take_from_pool(fut):
                try:
                    handed_over = self._poll_until(fut, deadline)
                finally:
                    self._leave_role()
                if not handed_over:
                    return
            if self._sleep(fut, deadline, handed_over):
                return

    def idle(self, fut: Future, deadline: float) -> None:
        """Sleep until `fut` is done or the deadline has passed, and leave all progress to the pool.

        For threads that are in no hurry (shutdown): one that polls would have to hand over every function it receives.
        """
        block(fut, deadline)

    def later(self, work: Callable[[Any], None], subject: Any) -> None:
        """Have `work(subject)`, a function of ours that never blocks, done by whoever polls in vain next, whose time is free.

        A call waits for its answer soon, and whoever leads looks every few milliseconds. A worker that never finds nothing to
        do works off the oldest piece for each one beyond LATER.
        """
        self._later.append((work, subject))
        if len(self._later) > LATER:
            self._work_off()

    def _work_off(self) -> None:
        """Do the oldest piece of what was left for later."""
        try:
            work, subject = self._later.popleft()
        except IndexError:
            return
        try:
            work(subject)
        except Exception:
            logger.exception("work that was left for later failed")

    def _leave_role(self) -> None:
        self._polled_by_waiter = False
        self._role.release()
        if self._parked:
            self._wake_parked()
        if not self._ticking:
            self._ensure_monitor()

    def _wake_parked(self) -> None:
        try:
            release(self._parked.popleft())
        except IndexError:
            pass

    def _take_from_pool(self, fut: Future) -> bool:
        """Ask the leader, if it only spins, for the lead."""
        if self._polled_by_waiter or self._hot:
            return False
        self._wanting.append(fut)
        try:
            return self._role.acquire(True, 0.001)
        finally:
            self._wanting.pop()

    def _poll_until(self, fut: Future, deadline: float | None) -> bool:
        """Poll while holding the lead. True: stop polling but go on waiting, because the lead went to the pool."""
        self._polled_by_waiter = True
        self._poller = _get_ident()
        receive, burst = self._receive, self._burst
        since = idle = 0.0
        try:
            while not fut._state:
                frame = self._poll(burst if idle < ACTIVE_SECONDS else GLANCE)
                if frame is not None:
                    work = receive(frame, fut)
                    if work is not None and self._hand_over(work):
                        return True
                    since = idle = 0.0
                    continue
                now = _monotonic()
                if deadline is not None and now >= deadline:
                    return False
                if since == 0.0:
                    since = now
                idle = now - since
                self._rest(now, idle, fut)
        finally:
            self._napping = False
            self._poller = 0
        return False

    def defer(self, run: Callable[[], None]) -> bool:
        """Have the pool run users' code if the current thread waits or holds the lead, where it must not run: a wait of
        its own would be for messages that nobody polls for."""
        me = _get_ident()
        if self._poller == me:
            self.submit(run)
        elif self._leader == me:
            self._enqueue(run)  # this thread takes it up itself, without the lead, before it polls in vain again
        else:
            return False
        return True

    def _hand_over(self, work: Any) -> bool:
        """Give user work to the pool; True if a thread takes it, and with it the lead."""
        mine = _get_ident() in self._threads
        if mine:
            self._blocked.append(None)
        try:
            return self.submit(work)
        finally:
            if mine:
                self._blocked.pop()

    def _sleep(self, fut: Future, deadline: float | None, handed_over: bool) -> bool:
        """Sleep until `fut` is done, the lead is offered, or a slice is over. True when the wait is over."""
        mine = _get_ident() in self._threads
        if mine:
            self._blocked.append(None)
            if self._jobs:
                self._staff()
        lock = Mutex()
        lock.acquire()
        self._parked.append(lock)
        try:
            if handed_over or self._role.locked():
                limit = SLICE if deadline is None else min(SLICE, max(0.0, deadline - _monotonic()))
                nap_on(fut, lock, limit)
        finally:
            if mine:
                self._blocked.pop()
            discard(self._parked, lock)
        if fut._state:
            if self._parked and not self._role.locked():
                self._wake_parked()  # the lead may have been offered to this thread, which has no more use for it
            return True
        return deadline is not None and _monotonic() >= deadline

    def _rest(self, now: float, idle: float, fut: Future | None) -> None:
        """Yield, then nap for a share of the time that has been idle.

        Never spin without yielding: with both ends of a call on one core, each would keep the other from answering.
        """
        breathe()
        if self._later:
            self._work_off()
            return
        if now >= self._next_housekeeping:
            self._keep_house(now)
        if self.transport.pending():
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
            self._napping = True
        if fut is None:
            time.sleep(nap)
        else:
            lock = Mutex()
            lock.acquire()
            nap_on(fut, lock, nap)

    def _keep_house(self, now: float) -> None:
        self._next_housekeeping = now + HOUSEKEEPING_SECONDS
        try:
            self._housekeep(now)
        except Exception:
            logger.exception("housekeeping failed")


def nap_on(fut: Future, lock: Any, seconds: float) -> None:
    """Sleep until `fut` is done, somebody releases `lock`, or the time is over."""
    breathe()
    fut._sleep(lock)
    lock.acquire(True, seconds)
    if fut._sleepers is not None:
        discard(fut._sleepers, lock)
