"""Progress: who polls, who runs, who sleeps. Everything about threads is here.

Words
- The *lead* (`_role`): whoever holds it polls for messages. A thread that waits for an answer takes it for the time of
  its wait and so completes its own future without any hand-over. Otherwise a pool thread has it: the *leader*.
- The leader runs a user function on its own stack. It lets go of the lead while the function runs (so that a wait
  inside it can take it) and takes it back afterwards; nobody else is woken for that.
- The *monitor* is a pool thread that looks now and then whether somebody polls. If nobody has for a TICK (the leader's
  function is slow, or a waiter has left), it becomes the leader itself, and another thread becomes the monitor. Each
  look costs the working thread two hand-overs of the GIL (about 60 us), so looks become rarer while all find somebody
  polling. It parks when the world has been quiet.
- Sending and polling go through one lock, without ever blocking: see `_progress/send_queue.py`.

Invariants
- I1. If nobody holds or is about to retake the lead, a monitor ticks; whoever lets the lead go for good looks at
  `_ticking`.
- I2. While a user function runs on the leader's stack, a monitor ticks.
- I3. User code runs on the leader's stack or on a pool thread, never on the stack of a waiter (who hands it over and,
  since there seems to be work to serve, the lead with it).
- I4. At most `limit` user functions run at a time, not counting those inside a wait. If none returns for STALL seconds
  while others queue, the limit is exceeded by one thread at a time: a function may wait for something that only a
  queued one will do.
- I5. Every sleep has a limit, so that a lost wake-up could cost time but never progress.
- Flags are written before the condition they announce is looked at again (on both sides), which the GIL makes a total
  order.

Budget per call, measured on 2 cores with Open MPI: taking and leaving the lead 0.3 us, one poll 0.5 us, running
accounting 0.3 us.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._compiled import breathe
from mpigrad._mutex import Mutex
from mpigrad.futures._future import discard, release

from .._transport.receive_pool import kept_bytes, trim
from .switch_interval import restore, shorten
from .waiting import ACTIVE_SECONDS, GLANCE, Waiting

if TYPE_CHECKING:
    from mpigrad.futures import Future

    from .._transport.base import Transport

logger = logging.getLogger(__name__)

TICK = 0.0005  # how long a function may keep the leader
LONGEST_TICK = 0.004  # between two looks while others are seen polling
QUIET_SECONDS = 0.05  # without work before the monitor parks
STALL = 0.05  # seconds without a function returning before the limit is exceeded
TRIM_SECONDS = 5.0  # without traffic, before unused receive memory is given back

_monotonic = time.monotonic
_get_ident = threading.get_ident


class Progress(Waiting):
    """The threads of one agent and the rules by which they poll, run and sleep."""

    def __init__(
        self,
        transport: Transport,
        receive: Callable[[Any, Future | None], Any],
        housekeep: Callable[[float], None],
        serve: Callable[[Any], None],
        send_failed: Callable[[int, bytes, Exception], None],
        limit: int,
        name: str,
    ) -> None:
        super().__init__(transport, receive, housekeep, send_failed)
        self.limit = limit
        self.name = name
        self._serve = serve  # runs user work
        self._monitor_role = Mutex()
        self._idle: deque[Any] = deque()  # locks of pool threads that have nothing to do
        self._running: deque[None] = deque()  # one entry for each user function that runs
        self._finished = self._finished_before = 0
        self._stalled_since = 0.0
        self._spawned = 0

    def start(self) -> None:
        """Start the first pool thread, which leads."""
        _fine_timers()
        shorten()
        self._spawn()

    def submit(self, work: Any) -> bool:
        """Queue user work for the pool; True if a thread is sure to take it now."""
        self._jobs.append(work)
        return self._staff()

    def submit_last(self, run: Callable[[], None]) -> None:
        """`submit`, for callbacks of calls that failed: they run even when the pool has ended."""
        self.submit(run)
        if self._stopping:
            self._run_last()

    def _run_last(self) -> None:
        """Run the callbacks that are still queued when the pool is no more; nobody waits for the rest."""
        while self._jobs:
            try:
                work = self._jobs.popleft()
            except IndexError:
                return
            if not isinstance(work, bytearray):
                self._running.append(None)
                self.run(work)

    def _staff(self) -> bool:
        """Wake or start a thread for the queue, within the limit."""
        if not self._has_room():
            if not self._ticking:
                self._ensure_monitor()
            return False
        self._wake_or_spawn()
        return True

    def _has_room(self) -> bool:
        return len(self._running) - len(self._blocked) < self.limit

    def _wake_or_spawn(self) -> None:
        try:
            release(self._idle.pop())
        except IndexError:
            self._spawn()

    def _ensure_monitor(self) -> None:
        if not self._stopping:
            self._wake_or_spawn()

    def _spawn(self) -> None:
        if self._stopping:
            return
        self._spawned += 1
        thread = threading.Thread(target=self._main, name=f"mpigrad-{self.name}-{self._spawned}", daemon=True)
        thread.start()

    def _main(self) -> None:
        """A pool thread: run what is queued, else lead, else monitor, else sleep."""
        me = _get_ident()
        self._threads[me] = threading.current_thread()
        self.adopt_thread()
        try:
            while not self._stopping:
                breathe()  # somebody who was given the lead may need no more than the GIL to take it
                if self._jobs and self._run_job():
                    continue
                if self._napping and not self._jobs:  # somebody leads, and there is nothing to watch
                    self._idle_sleep()
                elif not self._polled_by_waiter and not self._wanting and self._role.acquire(False):
                    self._lead()
                elif self._monitor_role.acquire(False):
                    try:
                        self._monitor()
                    finally:
                        self._ticking = False
                        self._monitor_role.release()
                elif self._retire():
                    return
                else:
                    self._idle_sleep()
        except Exception:
            logger.exception("a thread of the RPC pool ended with an error")
        finally:
            self._threads.pop(me, None)

    def adopt_thread(self) -> None:
        """What a new pool thread does first; replaced by agents that share a process."""

    def _retire(self) -> bool:
        """Whether there are idle threads enough without this one."""
        return len(self._idle) >= self.limit + 2

    def _idle_sleep(self) -> None:
        lock = Mutex()
        lock.acquire()
        self._idle.append(lock)
        if (
            (self._jobs and self._has_room())
            or self._stopping
            or not (self._ticking or self._role.locked() or self._napping)
        ):
            release(lock)
        lock.acquire(True, 1.0)
        discard(self._idle, lock)

    def _run_job(self) -> bool:
        work = self._next_job()
        if work is not None:
            self.run(work)
        return work is not None

    def run(self, work: Any) -> None:
        """Run user work on this pool thread; its place has been reserved."""
        try:
            self._serve(work)
        except Exception:
            logger.exception("an RPC handler ended with an error")
        finally:
            self._running.pop()
            self._finished += 1

    def _lead(self) -> None:
        """Poll and run, with the lead in hand, until somebody else takes it."""
        receive, burst, me = self._receive, self._burst, _get_ident()
        since = idle = 0.0
        held = True
        try:
            while not self._stopping and not self._wanting:
                frame = self._poll(burst if idle < ACTIVE_SECONDS else GLANCE)
                if frame is not None:
                    self._leader = me
                    work = receive(frame, None)
                    self._leader = 0
                    if work is not None and not self._reserve():
                        self._enqueue(work)
                        work = None
                else:
                    work = self._next_job()
                if work is not None:
                    self._napping = False
                    held = self._run_leading(work)
                    since = idle = 0.0
                elif frame is None:
                    now = _monotonic()
                    since = since or now
                    idle = now - since
                    held = self._idle_leading(now, idle)
                else:
                    self._napping = False
                    since = idle = 0.0
                if not held:
                    return
        finally:
            self._hot = self._napping = False
            if held:
                self._role.release()
            if self._parked and not self._role.locked():
                self._wake_parked()

    def _reserve(self) -> bool:
        """Take one of the places for running functions, if there is one; `run` gives it back."""
        running = self._running
        running.append(None)
        if len(running) - len(self._blocked) <= self.limit:
            return True
        running.pop()
        return False

    def _next_job(self) -> Any:
        """Queued work that may run now, with a place reserved for it."""
        if self._jobs and self._reserve():
            try:
                return self._jobs.popleft()
            except IndexError:
                self._running.pop()
        return None

    def _idle_leading(self, now: float, idle: float) -> bool:
        """Rest while there is nothing to lead; let the lead go for the time of a nap. False if somebody took it."""
        if idle < self._active:
            self._rest(now, idle, None)
            return True
        self._hot = False
        if self._jobs:
            self._relieve(now)
        if idle > TRIM_SECONDS and kept_bytes():
            trim()
        self._role.release()
        self._rest(now, idle, None)
        return self._role.acquire(False)

    def _run_leading(self, work: Any) -> bool:
        """Run user work, for which there is a place, without the lead meanwhile. False if somebody took the lead."""
        if not self._ticking:
            self._ensure_monitor()
        self._hot = True
        self._role.release()
        self.run(work)
        return self._role.acquire(False)

    def _enqueue(self, work: Any) -> None:
        """Leave work to whoever has a place next."""
        self._jobs.append(work)
        if not self._ticking:
            self._ensure_monitor()

    def _monitor(self) -> None:
        """Tick; return when there is no leader (to become it) or when the world is quiet (to sleep)."""
        self._ticking = True
        last, quiet_since, rest, doubtful = self._beat, 0.0, TICK, True
        self._stalled_since = 0.0
        while not self._stopping:
            breathe()
            time.sleep(TICK if doubtful else rest)
            now = _monotonic()
            if now >= self._next_housekeeping:
                self._keep_house(now)
            if self._jobs:
                rest = TICK
                self._relieve(now)
            else:
                self._stalled_since = 0.0
            if self._napping and not self._jobs:
                quiet_since = quiet_since or now
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
                if now - quiet_since > QUIET_SECONDS and self._may_park():
                    return
                continue
            quiet_since = 0.0
            polled, last = self._beat != last, self._beat
            if self._role.locked():
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
            elif not doubtful:
                doubtful = True  # between two polls, or gone: the next look, after a TICK, tells
            elif polled:
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
            else:
                return

    def _may_park(self) -> bool:
        """Say that nobody ticks any more, then look again whether that is right."""
        self._ticking = False
        if not self._napping:
            self._ticking = True
        return not self._ticking

    def _relieve(self, now: float) -> None:
        """Work is queued: get it a thread, even beyond the limit if no function has returned for a while."""
        if self._finished != self._finished_before or self._stalled_since == 0.0:
            self._finished_before, self._stalled_since = self._finished, now
        if self._has_room():
            self._wake_or_spawn()
        elif now - self._stalled_since > STALL:
            self._stalled_since = now
            self._spawn_beyond_limit()

    def _spawn_beyond_limit(self) -> None:
        try:
            work = self._jobs.popleft()
        except IndexError:
            return
        self._running.append(None)
        self._spawned += 1

        def extra() -> None:
            me = _get_ident()
            self._threads[me] = threading.current_thread()
            self.adopt_thread()
            try:
                self.run(work)
            finally:
                self._threads.pop(me, None)

        threading.Thread(target=extra, name=f"mpigrad-{self.name}-{self._spawned}", daemon=True).start()

    def stop(self) -> None:
        """End all pool threads that are not inside a user function; waits for them for a while."""
        if not self._stopping:
            restore()
        self._stopping = True
        while self._idle:
            self._wake_idle()
        me = _get_ident()
        began = _monotonic()
        for ident, thread in list(self._threads.items()):
            while ident != me and thread.is_alive():
                while self._idle:
                    self._wake_idle()
                thread.join(0.005)
                if _monotonic() - began > (0.2 if self._running else 10):  # a user function may run for ever
                    break
        self._run_last()
        with self.lock:
            self._drain()

    def _wake_idle(self) -> None:
        try:
            release(self._idle.pop())
        except IndexError:
            pass

    def counts(self) -> dict[str, int]:
        """Threads and queues, for debug information."""
        return {
            "threads": len(self._threads),
            "idle": len(self._idle),
            "running": len(self._running),
            "queued": len(self._jobs),
            "blocked": len(self._blocked),
        }


def _fine_timers() -> None:
    """Ask Linux for naps that end on time: the default slack adds 50 us. Threads started later inherit it."""
    try:
        ctypes.CDLL(None).prctl(29, ctypes.c_ulong(1), 0, 0, 0)  # PR_SET_TIMERSLACK
    except (OSError, AttributeError):
        pass
