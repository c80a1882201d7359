"""Progress of a simulated agent: no thread polls; messages, queued work, deferred work and timers are events."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._core.rpc.progress import Idle, Lead, Pool, SendQueue, Waiters
from mpigrad.distributed.rpc._agent.timers import Timers

if TYPE_CHECKING:
    from mpigrad._core.future import Future
    from mpigrad.distributed.rpc._progress.handler import MessageHandler
    from mpigrad.testing.simulation._scheduler import Scheduler
    from mpigrad.testing.simulation._transport import SimulatedTransport

logger = logging.getLogger(__name__)


class SimulatedProgress:
    """Replaces `Progress` for a simulated transport; constructs the same parts, some of them replaced by those below."""

    def __init__(self, transport: SimulatedTransport, handler: MessageHandler, limit: int, name: str) -> None:
        scheduler = transport.world.scheduler
        self.queue = SendQueue(transport, handler)
        self.lead = Lead()
        self.idle = SimulatedIdle(transport, handler, self.lead)
        self.pool = SimulatedPool(handler, self.queue, self.lead, self.idle, limit, name)
        self.pool.place(scheduler, transport.rank)
        self.waiters = SimulatedWaiters(handler, self.queue, self.lead, self.idle, self.pool)
        self.waiters.place(scheduler)


class SimulatedIdle(Idle):
    """Deferred work, which runs after the messages that have arrived by now."""

    def run_when_idle(self, work: Callable[[Any], None], subject: Any) -> None:
        transport: Any = self._transport
        scheduler = transport.world.scheduler
        scheduler.at(scheduler.clocks[transport.rank], transport.rank, work, subject)


class SimulatedPool(Pool):
    """Work of one agent that may wait, as events. The limit of running functions does not apply: a function that runs takes no
    virtual time except for its messages, and one that waits does not count.
    """

    def place(self, scheduler: Scheduler, rank: int) -> None:
        """Set the scheduler, and the worker to which the work belongs."""
        self._scheduler, self._rank = scheduler, rank

    def start(self) -> None:
        pass

    def submit(self, work: Any) -> bool:
        self.jobs.append(work)
        self._scheduler.at(self._scheduler.clocks[self._rank], self._rank, self._run_queued, None)
        return True

    enqueue = submit  # type: ignore[assignment]  # no thread has to be woken, so the two are the same

    def ensure_monitor(self) -> None:
        pass

    def _run_queued(self, _: None) -> None:
        if self.jobs:
            self.serve(self.jobs.popleft())

    def receive(self, message: bytearray) -> None:
        """Handle a message that has arrived."""
        work = self._handler.receive(message, None)
        if work is not None:
            self.serve(work)

    def serve(self, work: Any) -> None:
        """Run user work, which may wait."""
        try:
            self._handler.serve(work)
        except Exception:
            logger.exception("an RPC handler ended with an error")

    def stop(self) -> None:
        self.stopping = True
        while self.jobs:
            work = self.jobs.popleft()
            if not isinstance(work, bytearray):  # callbacks run; frames (requests) are dropped, their callers have been told
                self.serve(work)


class SimulatedWaiters(Waiters):
    """How the functions of one simulated worker wait for futures: the scheduler runs other events until the future is done."""

    def place(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def wait(self, fut: Future, deadline: float | None) -> None:
        if not self._scheduler.wait(fut, deadline):
            raise RuntimeError("a worker of a simulation can wait only inside of `Simulation.on`")

    def defer(self, run: Callable[[], None]) -> bool:
        return False  # events may wait, so callbacks run where they are


class SimulatedTimers(Timers):
    """Delayed actions of one agent, as events."""

    def __init__(self, scheduler: Scheduler, rank: int) -> None:
        super().__init__()
        self._scheduler, self._rank = scheduler, rank

    def after(self, seconds: float, run: Callable[[], None]) -> None:
        self._scheduler.at(self._scheduler.clocks[self._rank] + seconds, self._rank, lambda _: run(), None)
