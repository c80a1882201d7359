"""Waiting: a thread that waits for a future polls for messages itself, as long as that is of use.

See `pool.py` for the terms and the invariants. A wait is a guarded section (`mpigrad/_core/guard.py`): handlers of signals run
between two turns of its loop, where this thread has neither the lead nor anything half done. An answer whose decoding may run
user code is decoded there, too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._compiled import breathe
from mpigrad._core.guard import deliver, enter, interrupted, leave, rest
from mpigrad._core.mutex import Mutex

from ..future import block, discard
from .idle import ACTIVE_SECONDS, GLANCE, Idle
from .lead import Lead
from .pool import Pool
from .send_queue import SendQueue

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._progress.handler import MessageHandler

    from ..future import Future

_HANDED_OVER, _INTERRUPTED = object(), object()
SLICE = 0.25  # longest sleep of a parked thread before it looks again whether it should poll

_monotonic = time.monotonic
_get_ident = threading.get_ident


class Waiters:
    """The threads that wait for futures of one agent."""

    def __init__(self, handler: MessageHandler, queue: SendQueue, lead: Lead, idle: Idle, pool: Pool) -> None:
        self._handler, self._queue, self._lead, self._idle, self._pool = handler, queue, lead, idle, pool

    def wait(self, fut: Future, deadline: float | None) -> None:
        """Make progress until `fut` is done or the deadline has passed."""
        before = enter()
        try:
            ended = self._wait(fut, deadline)
        finally:
            leave(before)
        if not ended:
            block(fut, deadline)

    def _wait(self, fut: Future, deadline: float | None) -> bool:
        """`wait`, in a guarded section. False: the pool has stopped, and this thread may only sleep."""
        lock = self._lead.lock
        while not fut._state:
            breathe()
            if interrupted():
                deliver()
            if self._pool.stopping:
                return False
            found: Any = None
            if lock.acquire(False) or self._take_from_pool(fut):
                try:
                    found = self._poll_until(fut, deadline)
                finally:
                    self._leave()
                if found is None:
                    return True
                if found is _INTERRUPTED:
                    continue
                if found is not _HANDED_OVER:
                    self._handler.serve(found)
                    continue
            if self._sleep(fut, deadline, found is _HANDED_OVER):
                return True
        return True

    def _take_from_pool(self, fut: Future) -> bool:
        """Ask the leader, if it only polls, for the lead."""
        lead = self._lead
        if lead.polled_by_waiter or lead.just_served:
            return False
        lead.wanted_by.append(fut)
        try:
            return lead.lock.acquire(True, 0.001)
        finally:
            lead.wanted_by.pop()

    def _leave(self) -> None:
        """Let go of the lead."""
        lead = self._lead
        lead.polled_by_waiter = False
        lead.lock.release()
        if lead.parked:
            lead.wake_parked()
        if not lead.ticking:
            self._pool.ensure_monitor()

    def _poll_until(self, fut: Future, deadline: float | None) -> Any:
        """Poll while holding the lead. None: the wait is over. Otherwise it goes on without the lead, because the pool has it
        now, a signal was noted, or the returned frame, the answer that `fut` waits for, has to be decoded.
        """
        lead, queue, idling = self._lead, self._queue, self._idle
        lead.polled_by_waiter = True
        lead.poller = _get_ident()
        receive, burst = self._handler.receive, idling.burst
        since = idle = 0.0
        try:
            while not fut._state:
                if interrupted():
                    return _INTERRUPTED
                frame = queue.poll(burst if idle < ACTIVE_SECONDS else GLANCE)
                if frame is not None:
                    work = receive(frame, fut)
                    if work is not None:
                        if self._handler.answers(work, fut):
                            return work
                        if self._hand_over(work):
                            return _HANDED_OVER
                    since = idle = 0.0
                    continue
                now = _monotonic()
                if deadline is not None and now >= deadline:
                    return None
                if since == 0.0:
                    since = now
                idle = now - since
                idling.back_off(now, idle, fut)
        finally:
            lead.napping = False
            lead.poller = 0
        return None

    def _hand_over(self, work: Any) -> bool:
        """Give user work to the pool; True if a thread takes it, and with it the lead."""
        pool = self._pool
        mine = pool.owns_thread()
        if mine:
            pool.blocked.append(None)
        try:
            return pool.submit(work)
        finally:
            if mine:
                pool.blocked.pop()

    def _sleep(self, fut: Future, deadline: float | None, handed_over: bool) -> bool:
        """Sleep until `fut` is done, the lead is offered, or a slice is over. True when the wait is over."""
        lead, pool = self._lead, self._pool
        mine = pool.owns_thread()
        if mine:
            pool.blocked.append(None)
            if pool.jobs:
                pool.wake_worker()
        lock = Mutex()
        lock.acquire()
        lead.parked.append(lock)
        try:
            if handed_over or lead.lock.locked():
                limit = SLICE if deadline is None else min(SLICE, max(0.0, deadline - _monotonic()))
                fut._sleep(lock)
                rest(lock, limit)
        finally:
            if mine:
                pool.blocked.pop()
            discard(lead.parked, lock)
            if fut._sleepers is not None:
                discard(fut._sleepers, lock)
        if fut._state:
            if lead.parked and not lead.lock.locked():
                lead.wake_parked()  # the lead may have been offered to this thread, which has no more use for it
            return True
        return deadline is not None and _monotonic() >= deadline

    def defer(self, run: Callable[[], None]) -> bool:
        """Have the pool run users' code if the current thread polls, and return True; else return False.

        The code must not run on a polling thread: a wait of its own would be for messages that no thread polls for.
        """
        me = _get_ident()
        if self._lead.poller == me:
            self._pool.submit(run)
        elif self._lead.leader == me:
            self._pool.enqueue(run)  # this thread runs it itself, without the lead, before its next idle poll
        else:
            return False
        return True
