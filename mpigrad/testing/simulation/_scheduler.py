"""The scheduler: events in the order of virtual time, on threads of which exactly one runs at a time.

A thread here is a *fiber*: it runs only while it holds the *baton*. The fiber with the baton takes the next event from the heap
and runs it. An event that waits (a nested `rpc_sync`) keeps its fiber: it passes the baton to an idle fiber, or to a new one, and
sleeps. When its future is done, an event is queued that passes the baton back. So there is one thread for each function that is
waiting, and none for an idle worker.

Each worker has its own clock. An event starts when it is due or when its worker is free, whichever is later, and a worker's
messages advance its clock. Workers affect each other through messages alone, so their clocks need not agree.

Invariants
- One fiber runs at a time, so the state here needs no lock. Locks of the library are never held while a fiber waits.
- `chains[rank]` is the number of sends and receives on the longest path to the present of a worker: a message continues the path
  of its sender if its receiver was idle, and the path of the receiver if that was busy.
- A fiber that sleeps is woken once: by its future, by its deadline, or by the end of the simulation, which raises `Ended` in it.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpigrad._core.future import Future

logger = logging.getLogger(__name__)

STACK = 512 * 1024  # bytes of address space for the stack of a fiber; pages that it does not touch cost nothing
_RUN, _DEADLINE, _RESUME = range(3)


class Ended(BaseException):
    """Raised in fibers that still wait when the simulation ends, to unwind their stacks."""


class Fiber:
    """A thread that runs while it holds the baton."""

    __slots__ = ("lock", "thread")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()
        self.thread: threading.Thread | None = None


class Sleeper:
    """Wakes a waiting fiber, once. Has the methods of a lock that a future calls on completion."""

    __slots__ = ("_fiber", "_rank", "_scheduler", "waiting")

    def __init__(self, scheduler: Scheduler, fiber: Fiber, rank: int) -> None:
        self._scheduler, self._fiber, self._rank, self.waiting = scheduler, fiber, rank, True

    def locked(self) -> bool:
        return self.waiting

    def release(self) -> None:
        self.wake(self._scheduler.clocks[self._rank])

    def wake(self, at: float) -> None:
        self.waiting = False
        self._scheduler.push(at, self._rank, _RESUME, self._fiber)


class Scheduler:
    """Events, fibers and the clocks of all workers.

    `enter(rank)` is called before an event of a worker starts. `timeouts()` returns the earliest deadline of a pending call and
    the worker that made it, or None: it is asked when no event is left, since only a timeout can then end a wait.
    """

    def __init__(self, size: int, enter: Callable[[int], None], timeouts: Callable[[], tuple[float, int] | None]) -> None:
        self.clocks, self.chains = [0.0] * size, [0] * size
        self.rank = 0
        self.waiting: dict[Fiber, int] = {}  # the rank of each fiber that sleeps inside an event
        self.fibers = 0  # the most fibers at one time
        self._enter, self._timeouts = enter, timeouts
        self._heap: list[tuple[float, int, int, int, Any, Any]] = []
        self._numbers = itertools.count()
        self._idle: list[Fiber] = []
        self._threads: dict[int, Fiber] = {}
        self._ended = False
        self._quiet = threading.Event()

    # -- for agents ------------------------------------------------------------------------------------------------
    def push(self, at: float, rank: int, kind: int, subject: Any, argument: Any = None) -> None:
        """Queue an event of a worker for the virtual time `at`; the kind says what `subject` is: see `_run_next`."""
        # The number keeps events of the same time in the order in which they were queued, and heapq from comparing subjects.
        heapq.heappush(self._heap, (at, next(self._numbers), rank, kind, subject, argument))

    def at(self, when: float, rank: int, run: Callable[[Any], None], argument: Any) -> None:
        """Call `run(argument)` as the worker `rank`, not before the time `when`."""
        self.push(when, rank, _RUN, run, argument)

    def time(self) -> float | None:
        """The clock of the worker that this thread acts for; None on threads outside of the simulation."""
        return self.clocks[self.rank] if threading.get_ident() in self._threads else None

    def spend(self, rank: int, seconds: float) -> None:
        """Advance the clock of worker `rank` by `seconds`, for one send or one receive."""
        self.clocks[rank] += seconds
        self.chains[rank] += 1

    def wait(self, fut: Future, deadline: float | None) -> bool:
        """Let others run until `fut` is done or its deadline has passed; False on threads outside of the simulation."""
        fiber = self._threads.get(threading.get_ident())
        if fiber is None:
            return False
        if fut._state or self._ended:
            return not self._ended
        rank, sleeper = self.rank, Sleeper(self, fiber, self.rank)
        fut._sleep(sleeper)
        if deadline is not None and deadline != float("inf"):
            self.push(deadline, rank, _DEADLINE, sleeper)
        self.waiting[fiber] = rank
        self._pass_on(self._idle.pop() if self._idle else self._new())
        fiber.lock.acquire()
        del self.waiting[fiber]
        sleeper.waiting = False
        if self._ended:
            raise Ended
        self._begin(rank)
        return True

    # -- for the thread of the program -----------------------------------------------------------------------------
    def run(self) -> None:
        """Run all events, and those that they cause, until there are none."""
        self._quiet.clear()
        self._pass_on(self._idle.pop() if self._idle else self._new())
        while not self._quiet.wait(0.5):  # in slices, so that Ctrl-C works
            pass

    def end(self) -> None:
        """End all fibers."""
        self._ended = True
        for fiber in list(self._threads.values()):  # one after the other: `finally` blocks run as before, alone
            fiber.lock.release()
            assert fiber.thread is not None
            fiber.thread.join(10)

    # -- fibers ------------------------------------------------------------------------------------------------------
    def _new(self) -> Fiber:
        fiber = Fiber()
        before = threading.stack_size(STACK)
        try:
            fiber.thread = threading.Thread(target=self._main, args=(fiber,), name="mpigrad-simulation", daemon=True)
            fiber.thread.start()
        finally:
            threading.stack_size(before)
        assert fiber.thread.ident is not None
        self._threads[fiber.thread.ident] = fiber
        self.fibers = max(self.fibers, len(self._threads))
        return fiber

    def _pass_on(self, fiber: Fiber) -> None:
        """Pass the baton to another fiber; the caller must then sleep on its own lock, or not touch the state any more."""
        fiber.lock.release()

    def _main(self, fiber: Fiber) -> None:
        fiber.lock.acquire()
        try:
            while not self._ended:
                if not self._run_next(fiber):
                    self._idle.append(fiber)
                    self._quiet.set()
                    fiber.lock.acquire()
        except Ended:
            pass

    def _run_next(self, fiber: Fiber) -> bool:
        """Run the next event; False if there is none and no call can time out."""
        if not self._heap:
            due = self._timeouts()
            if due is None:
                return False
            self.push(due[0], due[1], _RUN, _nothing)
            self.clocks[due[1]] = max(self.clocks[due[1]], due[0])
        at, _, rank, kind, subject, argument = heapq.heappop(self._heap)
        if kind == _DEADLINE:  # `subject` is the `Sleeper` of a wait, which may have ended by now
            if subject.waiting:
                subject.wake(at)
        elif kind == _RESUME:  # `subject` is a fiber whose wait is over: it continues, and this one becomes idle
            self.clocks[rank] = max(self.clocks[rank], at)
            self._idle.append(fiber)
            self._pass_on(subject)
            fiber.lock.acquire()
        else:
            self.clocks[rank] = max(self.clocks[rank], at)
            self._begin(rank)
            self._run_event(subject, argument)
        return True

    def _begin(self, rank: int) -> None:
        """Act for this worker from now on."""
        self.rank = rank
        self._enter(rank)

    def _run_event(self, run: Callable[[Any], None], argument: Any) -> None:
        try:
            run(argument)
        except Exception:
            logger.exception("an event of worker %s failed", self.rank)


def _nothing(_: Any) -> None:
    pass
