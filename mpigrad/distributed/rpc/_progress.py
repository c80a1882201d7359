"""Progress: who polls, who runs, who sleeps. Everything about threads is here.

Words
- The *lead* (`_role`): whoever holds it polls for messages. A thread that waits for an answer takes it for the time of its wait
  and so completes its own future without any hand-over. Otherwise a pool thread has it: the *leader*.
- The leader runs a user function on its own stack. It lets go of the lead while the function runs (so that a wait inside it can
  take it) and takes it back afterwards; nobody else is woken for that.
- The *monitor* is a pool thread that looks every TICK whether somebody polls. If not (the leader's function is slow, or a waiter
  has left), it becomes the leader itself, and another thread becomes the monitor. It parks when the world has been quiet.
- `lock` guards MPI: held for each send and each poll, never while anything else runs. A thread that cannot get it leaves its frame
  in `outbox`, which the holder empties: sending never blocks.

Invariants
- I1. If nobody holds or is about to retake the lead, a monitor ticks; whoever lets the lead go for good looks at `_ticking`.
- I2. While a user function runs on the leader's stack, a monitor ticks.
- I3. User code runs on the leader's stack or on a pool thread, never on the stack of a waiter (who hands it over and, since there
  seems to be work to serve, the lead with it).
- I4. At most `limit` user functions run at a time, not counting those inside a wait. If none returns for STALL seconds while others
  queue, the limit is exceeded by one thread at a time: a function may wait for something that only a queued one will do.
- I5. Every sleep has a limit, so that a lost wake-up could cost time but never progress.
- Flags are written before the condition they announce is looked at again (on both sides), which the GIL makes a total order.

Budget per call, measured on 2 cores with Open MPI: taking and leaving the lead 0.3 us, one poll 0.5 us, running accounting 0.3 us.
"""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad.futures._future import block, release

from ._blocks import trim

if TYPE_CHECKING:
    from mpigrad.futures import Future

    from ._transport import Transport

logger = logging.getLogger(__name__)

TICK = 0.0005  # how long a function may keep the leader
QUIET_TICKS = 100  # ticks without a poll by anybody awake before the monitor parks
BURST = 24  # tests of one look for messages
GLANCE = 2  # the same after a nap
SPIN_SECONDS = 0.0002  # after activity, before naps
SHORTEST_NAP, LONGEST_NAP, IDLE_NAP = 0.00002, 0.002, 0.004  # IDLE_NAP once a second has passed
STALL = 0.05
SLICE = 0.25  # longest sleep of a parked thread between two looks at the world
TRIM_SECONDS = 5.0

_monotonic = time.monotonic
_get_ident = threading.get_ident


class Progress:
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
        self.transport = transport
        self.lock = threading.Lock()
        self.outbox: deque[tuple[int, bytes, list[Any], int]] = deque()
        self.limit = limit
        self.name = name
        self._receive = receive  # (frame, what the thread waits for) -> None, or the user work that the frame asks for
        self._serve = serve  # runs user work
        self._send_failed = send_failed
        self._housekeep = housekeep
        self._role = threading.Lock()
        self._monitor_role = threading.Lock()
        self._wanting: deque[Any] = deque()  # waiters that want the lead from the pool
        self._parked: deque[Any] = deque()  # locks of waiters that sleep because another waiter polls
        self._polled_by_waiter = False
        self._hot = False  # the leader has just served a request: waiters had better leave it in place
        self._beat = 0
        self._poller = 0  # the waiting thread that polls
        self._napping = False
        self._ticking = False
        self._jobs: deque[Any] = deque()
        self._idle: deque[Any] = deque()
        self._running: deque[None] = deque()
        self._blocked: deque[None] = deque()
        self._finished = 0
        self._threads: dict[int, threading.Thread] = {}
        self._spawned = 0
        self._stopping = False
        self._next_housekeeping = 0.0
        self._spin = 0.0 if transport.oversubscribed else SPIN_SECONDS
        self._burst = 1 if transport.oversubscribed else BURST

    # Sending

    def post(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Send, or leave it to whoever holds the lock."""
        lock = self.lock
        if not self.outbox and lock.acquire(False):
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._send_failed(dst, frame, error)
            finally:
                lock.release()
        else:
            self.outbox.append((dst, frame, follow, tag))
        if self.outbox:
            self.flush()

    def flush(self) -> None:
        """Send what is in the outbox, unless somebody is about to."""
        outbox, lock = self.outbox, self.lock
        while outbox and lock.acquire(False):
            try:
                self._drain()
            finally:
                lock.release()

    def _drain(self) -> None:
        outbox, send = self.outbox, self.transport.send
        while outbox:
            item = outbox.popleft()
            try:
                send(*item)
            except Exception as error:
                self._send_failed(item[0], item[1], error)

    def _poll(self, tries: int) -> Any:
        """Look for a message; None also when another thread is inside MPI."""
        lock = self.lock
        if not lock.acquire(False):
            return None
        try:
            if self.outbox:
                self._drain()
            frame = self.transport.poll(tries)
        finally:
            lock.release()
        self._beat += 1
        if self.outbox:
            self.flush()
        return frame

    # Waiting

    def wait(self, fut: Future, deadline: float | None) -> None:
        """Make progress until `fut` is done or the deadline has passed."""
        role = self._role
        while not fut._state:
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
        poll, receive, burst = self._poll, self._receive, self._burst
        since = idle = 0.0
        try:
            while not fut._state:
                frame = poll(burst if idle < SPIN_SECONDS else GLANCE)
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
        """Have the pool run users' callbacks if the current thread is a waiter, where they must not run."""
        if self._poller != _get_ident():
            return False
        self.submit(run)
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
        lock = threading.Lock()
        lock.acquire()
        self._parked.append(lock)
        try:
            if handed_over or self._role.locked():
                limit = SLICE if deadline is None else min(SLICE, max(0.0, deadline - _monotonic()))
                _nap(fut, lock, limit)
        finally:
            if mine:
                self._blocked.pop()
            _discard(self._parked, lock)
        if fut._state:
            if self._parked and not self._role.locked():
                self._wake_parked()  # the lead may have been offered to this thread, which has no more use for it
            return True
        return deadline is not None and _monotonic() >= deadline

    def _rest(self, now: float, idle: float, fut: Future | None) -> None:
        """Spin, then yield, then nap for a share of the time that has been idle."""
        if now >= self._next_housekeeping:
            self._next_housekeeping = now + 0.02
            self._housekeep(now)
        if idle < self._spin:
            return
        if self.transport.pending():
            if idle > self._spin * 25:
                os.sched_yield()
            if idle < 0.5:
                return
        elif idle < 0.0001:
            os.sched_yield()
            return
        nap = idle * 0.125
        nap = SHORTEST_NAP if nap < SHORTEST_NAP else min(nap, LONGEST_NAP if idle < 1 else IDLE_NAP)
        if nap > 0.0002:
            self._napping = True
        if fut is None:
            time.sleep(nap)
        else:
            lock = threading.Lock()
            lock.acquire()
            _nap(fut, lock, nap)

    # The pool

    def start(self) -> None:
        """Start the first pool thread, which leads."""
        _fine_timers()
        self._spawn()

    def submit(self, work: Any) -> bool:
        """Queue user work for the pool; True if a thread is sure to take it now."""
        self._jobs.append(work)
        return self._staff()

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
                if self._jobs and self._run_job():
                    continue
                if self._napping:  # somebody leads, there is nothing to do, and so there is nothing to watch
                    self._idle_sleep()
                elif not self._polled_by_waiter and self._role.acquire(False):
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
        lock = threading.Lock()
        lock.acquire()
        self._idle.append(lock)
        if (self._jobs and self._has_room()) or self._stopping or not (self._ticking or self._role.locked() or self._napping):
            release(lock)
        lock.acquire(True, 1.0)
        _discard(self._idle, lock)

    def _run_job(self) -> bool:
        if not self._has_room():
            return False
        try:
            work = self._jobs.popleft()
        except IndexError:
            return False
        self.run(work)
        return True

    def run(self, work: Any) -> None:
        """Run user work on this pool thread, counted."""
        self._running.append(None)
        try:
            self._serve(work)
        except Exception:
            logger.exception("an RPC handler ended with an error")
        finally:
            self._running.pop()
            self._finished += 1

    def _lead(self) -> None:
        """Poll and run, with the lead in hand, until somebody else takes it."""
        role, poll, receive, burst = self._role, self._poll, self._receive, self._burst
        since = idle = 0.0
        trimmed = False
        held = True
        try:
            while not self._stopping and not self._wanting:
                frame = poll(burst if idle < SPIN_SECONDS else GLANCE)
                if frame is None and self._jobs and self._has_room():
                    try:
                        work = self._jobs.popleft()
                    except IndexError:
                        continue
                elif frame is None:
                    now = _monotonic()
                    if since == 0.0:
                        since = now
                    idle = now - since
                    if idle > 0.0001:
                        self._hot = False
                    if idle > TRIM_SECONDS and not trimmed:
                        trimmed = True
                        trim()
                    if idle < self._spin:
                        self._rest(now, idle, None)
                        continue
                    role.release()
                    held = False
                    self._rest(now, idle, None)
                    held = role.acquire(False)
                    if not held:
                        return
                    continue
                else:
                    work = receive(frame, None)
                    self._napping = False
                since = idle = 0.0
                trimmed = False
                if work is None:
                    continue
                if not self._has_room():
                    self._jobs.append(work)
                    if not self._ticking:
                        self._ensure_monitor()
                    continue
                self._hot = True
                if not self._ticking:
                    self._ensure_monitor()
                role.release()
                held = False
                self.run(work)
                held = role.acquire(False)
                if not held:
                    return
        finally:
            self._hot = False
            self._napping = False
            if held:
                role.release()
            if self._parked and not role.locked():
                self._wake_parked()

    def _monitor(self) -> None:
        """Tick; return when there is no leader (to become it) or when the world is quiet (to sleep)."""
        self._ticking = True
        last = self._beat
        finished, stalled_since = self._finished, 0.0
        quiet = 0
        while not self._stopping:
            time.sleep(TICK)
            now = _monotonic()
            if now >= self._next_housekeeping:
                self._next_housekeeping = now + 0.02
                self._housekeep(now)
            if self._jobs:
                if self._finished != finished or stalled_since == 0.0:
                    finished, stalled_since = self._finished, now
                if self._has_room():
                    self._wake_or_spawn()
                elif now - stalled_since > STALL:
                    stalled_since = now
                    self._spawn_beyond_limit()
            else:
                stalled_since = 0.0
            beat = self._beat
            if self._napping:
                quiet += 1
                if quiet > QUIET_TICKS and not self._jobs:
                    self._ticking = False
                    if self._napping:
                        return
                    self._ticking = True
                continue
            quiet = 0
            if beat == last and not self._role.locked():
                return
            last = beat

    def _spawn_beyond_limit(self) -> None:
        try:
            work = self._jobs.popleft()
        except IndexError:
            return
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


def _nap(fut: Future, lock: Any, seconds: float) -> None:
    """Sleep until `fut` is done, somebody releases `lock`, or the time is over."""
    fut._sleep(lock)
    lock.acquire(True, seconds)
    if fut._sleepers is not None:
        _discard(fut._sleepers, lock)


def _discard(entries: deque[Any], entry: Any) -> None:
    try:
        entries.remove(entry)
    except (ValueError, IndexError):
        pass


def _fine_timers() -> None:
    """Ask Linux for naps that end on time: the default slack adds 50 us. Threads started later inherit it."""
    try:
        ctypes.CDLL(None).prctl(29, ctypes.c_ulong(1), 0, 0, 0)  # PR_SET_TIMERSLACK
    except (OSError, AttributeError):
        pass
