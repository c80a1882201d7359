"""Progress: which thread polls for messages, which runs user functions, which sleeps.

Terms
- The *send queue*: many threads send and poll through one transport, one at a time, and none of them ever blocks. Its
  `lock` is held for each send and each poll, never while anything else runs. A thread that cannot get it leaves its
  frame in `outbox`; the holder empties the outbox before or after it releases the lock.
- The *lead* (`Lead.lock`): the thread that holds it polls for messages. A thread that waits for an answer takes it for
  the time of its wait, and so completes its own future without a hand-over. Otherwise a pool thread holds it: the
  *leader*.
- The leader runs a user function on its own stack. It releases the lead while the function runs (so that a wait inside
  the function can take it) and takes it back afterwards; no other thread is woken for that.
- The *monitor* is a pool thread that checks now and then whether any thread polls. If none has for a TICK (the leader's
  function is slow, or a waiter has left), it becomes the leader itself, and another thread becomes the monitor. Each
  check costs the working thread two hand-overs of the GIL (about 60 us), so checks become rarer while all of them find
  a polling thread. The monitor parks when the world has been quiet.
- A polling thread that finds no message runs deferred work first, then housekeeping (timers and timeouts), then sleeps: naps,
  which become longer the longer no message has come (`Idle`).
- A wait is a guarded section (`mpigrad/_core/guard.py`): handlers of signals run between two turns of its loop, where
  this thread has neither the lead nor anything half done. An answer whose decoding may run user code is decoded there,
  too.

Invariants
- I1. If no thread holds or is about to retake the lead, a monitor ticks; a thread that releases the lead for good
  checks `Lead.ticking`.
- I2. While a user function runs on the leader's stack, a monitor ticks.
- I3. User code runs on the leader's stack or on a pool thread, never on the stack of a waiter (which hands it over and,
  since there seems to be work to serve, the lead with it).
- I4. At most `limit` user functions run at a time, not counting those inside a wait. If none returns for STALL seconds
  while others queue, the limit is exceeded by one thread at a time: a function may wait for something that only a
  queued one will do.
- I5. Every sleep has a limit, so that a lost wake-up could cost time but never progress.
- Flags are written before the condition they announce is checked again (on both sides), which the GIL makes a total
  order.

Cost per call, measured on 2 cores with Open MPI: taking and leaving the lead 0.3 us, one poll 0.5 us, accounting of
running functions 0.3 us.
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

from mpigrad._compiled import breathe
from mpigrad.distributed.rpc._progress.switch_interval import restore, shorten
from mpigrad.distributed.rpc._transport import receive_pool
from mpigrad.distributed.rpc._transport.shared_memory import lending

from ..future import block, discard, release
from ..guard import deliver, enter, interrupted, leave, rest
from ..objects import Mutex
from .transport import Transport

if TYPE_CHECKING:
    from mpigrad.distributed.rpc._progress.handler import MessageHandler

    from ..future import Future


# -- the send queue ----------------------------------------------------------------------------------------------------
class SendQueue:
    """Gives many threads access to the transport, one at a time, without blocking any of them.

    `handler` is told of frames that could not be sent.
    """

    def __init__(self, transport: Transport, handler: MessageHandler) -> None:
        self.transport = transport
        self.lock = transport.lock or Mutex()
        self.outbox: deque[tuple[int, bytes, list[Any], int]] = deque()
        self.polls = 0  # number of polls by any thread; the monitor checks whether it grows
        self._handler = handler
        transport.report_failures_to(handler)

    def post(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Send a frame to the rank `dst`, or leave it in the outbox for the thread that holds the lock.

        `follow` are the arrays that follow the frame, `tag` is the first tag of their transfers.
        """
        lock = self.lock
        if not self.outbox and lock.acquire(False):  # frames in the outbox go first, to keep the order of messages
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._handler.send_failed(dst, frame, error)
            finally:
                lock.release()
        else:
            self.outbox.append((dst, frame, follow, tag))
        if self.outbox:  # the holder may have looked into the outbox for the last time before the frame was added
            self.flush()

    def flush(self) -> None:
        """Send the frames in the outbox, unless another thread holds the lock and will do so."""
        outbox, lock = self.outbox, self.lock
        # again after each release: a thread that found the lock taken may have added a frame in between
        while outbox and lock.acquire(False):
            try:
                self.drain()
            finally:
                lock.release()

    def drain(self) -> None:
        """Send the frames in the outbox; the caller holds the lock."""
        outbox = self.outbox
        while outbox:
            dst, frame, follow, tag = outbox.popleft()
            try:
                self.transport.send(dst, frame, follow, tag)
            except Exception as error:
                self._handler.send_failed(dst, frame, error)

    def poll(self, tries: int) -> Any:
        """Test up to `tries` times for a message and return it; None if there is none or another thread holds the lock."""
        lock = self.lock
        if not lock.acquire(False):
            return None
        try:
            if self.outbox:  # frames of threads that found the lock taken
                self.drain()
            frame = self.transport.poll(tries)
        finally:
            lock.release()
        self.polls += 1
        if self.outbox:  # left there by a thread that found the lock taken during the poll
            self.flush()
        return frame


# -- the lead ----------------------------------------------------------------------------------------------------------
class Lead:
    """The lead, the threads that want it, and what its holder does. Fields are written under the GIL, without a lock."""

    def __init__(self) -> None:
        self.lock = Mutex()  # held by the thread that polls
        self.wanted_by: deque[Any] = deque()  # waiters that want the lead from the pool
        self.parked: deque[Any] = deque()  # locks of waiters that sleep because another thread polls
        self.polled_by_waiter = False
        self.poller = 0  # the waiting thread that polls
        self.leader = 0  # the pool thread that is handling a message while it holds the lead
        self.just_served = False  # the leader has just served a request and expects more: waiters do not take the lead from it
        self.napping = False  # the holder of the lead is idle
        self.ticking = False  # a monitor is running

    def wake_parked(self) -> None:
        """Wake the waiter that has slept longest, so that it can take the lead."""
        try:
            release(self.parked.popleft())
        except IndexError:
            pass


# -- idle time ---------------------------------------------------------------------------------------------------------
logger = logging.getLogger(__name__)

BURST = 24  # tests of the transport in one poll
GLANCE = 2  # the same after a nap
# Measured on two cores with Open MPI (docs/lab/learned.md): shorter times make the next call wait for a wake-up, longer ones take
# the core from other processes.
ACTIVE_SECONDS = 0.0002  # after activity: poll closely, keep the lead
YIELD_SECONDS = 0.001  # after activity, before naps: ranks that exchange messages faster than this never sleep in between
TRANSFER_SECONDS = 60.0  # how long stalled transfers keep this rank from napping
SHORTEST_NAP, LONGEST_NAP, IDLE_NAP = 0.00002, 0.002, 0.006  # IDLE_NAP after a second without work
HOUSEKEEPING_SECONDS = 0.02
DEFERRED_MAX = 64  # entries of deferred work; above it the oldest runs at once


class Idle:
    """What the polling threads of one agent do when they find no message: deferred work, housekeeping, naps."""

    def __init__(self, transport: Transport, handler: MessageHandler, lead: Lead) -> None:
        self.active = 0.0 if transport.oversubscribed else ACTIVE_SECONDS
        self.burst = 1 if transport.oversubscribed else BURST
        self.next_housekeeping = 0.0
        self._transport, self._handler, self._lead = transport, handler, lead
        self._moving = 0.0  # when transfers were last in flight
        self._deferred: deque[tuple[Callable[[Any], None], Any]] = deque()

    def run_when_idle(self, work: Callable[[Any], None], subject: Any) -> None:
        """Have `work(subject)` run by the next thread whose poll finds no message; it must be library code that never blocks.

        That happens soon: the caller waits for its answer, or the leader polls within a few milliseconds. If the worker
        is never idle, the oldest entry runs at once when there are more than DEFERRED_MAX.
        """
        self._deferred.append((work, subject))
        if len(self._deferred) > DEFERRED_MAX:
            self._run_deferred()

    def _run_deferred(self) -> None:
        """Run the oldest entry of the deferred work, if there is any. Errors are logged."""
        try:
            work, subject = self._deferred.popleft()
        except IndexError:
            return
        try:
            work(subject)
        except Exception:
            logger.exception("deferred work failed")

    def back_off(self, now: float, idle: float, fut: Future | None) -> None:
        """Do what a polling thread does after a poll without a message: deferred work, housekeeping, or a rest.

        `now` is the time, `idle` how long this thread has found no message, both in seconds. Soon after a message it only
        yields the core; later it naps for an eighth of `idle`, at most until `fut` is done. It never spins without
        yielding: if caller and callee share a core, each would keep the other from answering.
        """
        breathe()
        if self._deferred:
            self._run_deferred()
            return
        if now >= self.next_housekeeping:
            self.housekeep(now)
        if self._transport.pending():
            self._moving = now
            if idle < TRANSFER_SECONDS:  # MPI moves fragments only while both ranks call it
                os.sched_yield()  # also for frames, which are in flight until the receiver has polled, maybe on this core
                return
        else:
            idle = min(idle, now - self._moving)  # a transfer counts as activity: its answer will follow soon
            if idle < YIELD_SECONDS:
                os.sched_yield()
                return
        nap = idle * 0.125  # so that a nap delays a message by at most an eighth of the time that passed before it
        nap = SHORTEST_NAP if nap < SHORTEST_NAP else min(nap, LONGEST_NAP if idle < 1 else IDLE_NAP)
        if nap > 0.0002:  # from here on this thread counts as idle, and the monitor may slow down and park
            self._lead.napping = True
        if fut is None:
            time.sleep(nap)
        else:
            lock = Mutex()
            lock.acquire()
            sleep_on(fut, lock, nap)

    def housekeep(self, now: float) -> None:
        """Run the agent's housekeeping: timers that are due at `now`, and timeouts. Errors are logged."""
        self.next_housekeeping = now + HOUSEKEEPING_SECONDS
        try:
            self._handler.housekeep(now)
        except Exception:
            logger.exception("housekeeping failed")


def sleep_on(fut: Future, lock: Any, seconds: float) -> None:
    """Sleep for `seconds`, or until `fut` is done or another thread releases `lock`, which this one holds."""
    breathe()
    fut._sleep(lock)
    lock.acquire(True, seconds)
    if fut._sleepers is not None:
        discard(fut._sleepers, lock)


# -- the pool ----------------------------------------------------------------------------------------------------------
TICK = 0.0005  # how long a function may run before the monitor takes the lead
LONGEST_TICK = 0.004  # longest pause between two checks of the monitor while other threads poll
QUIET_SECONDS = 0.05  # idle time before the monitor sleeps
STALL = 0.05  # seconds without a function returning before the limit is exceeded
TRIM_SECONDS = 5.0  # idle time before unused receive buffers are freed

_monotonic = time.monotonic
_get_ident = threading.get_ident


class Pool:
    """The threads of one agent: they run user functions, poll as leader, or monitor.

    `limit` is the number of user functions that may run at a time, `name` the worker's, for the names of the threads.
    """

    def __init__(
        self, handler: MessageHandler, queue: SendQueue, lead: Lead, idle: Idle, limit: int, name: str
    ) -> None:
        self.limit = limit  # of user functions that run at the same time
        self.name = name
        self.jobs: deque[Any] = deque()  # user work that waits for a thread
        self.blocked: deque[None] = deque()  # one entry for each pool thread that sleeps in a wait
        self.threads: dict[int, threading.Thread] = {}  # by thread id
        self.stopping = False
        self._handler, self._queue, self._lead, self._idle = handler, queue, lead, idle
        self._monitor_role = Mutex()
        self._sleeping: deque[Any] = deque()  # locks of idle pool threads
        self._running: deque[None] = deque()  # one entry per running function; `append` and `pop` are atomic
        self._finished = self._finished_before = 0
        self._stalled_since = 0.0
        self._spawned = 0
        self._thread_hooks: list[Callable[[], None]] = []

    def on_thread_start(self, hook: Callable[[], None]) -> None:
        """Call `hook` at the start of every pool thread. Must be called before `start`."""
        self._thread_hooks.append(hook)

    def owns_thread(self) -> bool:
        """Return whether the current thread is one of the pool."""
        return _get_ident() in self.threads

    def start(self) -> None:
        """Start the first pool thread, which becomes the leader."""
        _fine_timers()
        shorten()
        self._spawn()

    def submit(self, work: Any) -> bool:
        """Queue user work (a frame or a function) for the pool; returns whether a thread was woken or started for it."""
        self.jobs.append(work)
        return self.wake_worker()

    def submit_last(self, run: Callable[[], None]) -> None:
        """Queue a callback of a failed call, as `submit`. If the pool has stopped, it runs on this thread."""
        self.submit(run)
        if self.stopping:
            self._run_last()

    def _run_last(self) -> None:
        """Run the callbacks in the queue after the pool has stopped, and drop requests: their callers were told of the end."""
        while self.jobs:
            try:
                work = self.jobs.popleft()
            except IndexError:
                return
            if not isinstance(work, bytearray):
                self._running.append(None)
                self.run(work)

    def wake_worker(self) -> bool:
        """Wake or start a thread for queued work; False if the limit of running functions is reached."""
        if not self._has_room():
            if not self._lead.ticking:
                self.ensure_monitor()
            return False
        self._wake_or_spawn()
        return True

    def _has_room(self) -> bool:
        """Return whether another user function may run; those inside a wait do not count (I4)."""
        return len(self._running) - len(self.blocked) < self.limit

    def _wake_or_spawn(self) -> None:
        try:
            release(self._sleeping.pop())
        except IndexError:
            self._spawn()

    def ensure_monitor(self) -> None:
        """Wake or start a thread, which becomes the monitor if there is none, unless the pool stops."""
        if not self.stopping:
            self._wake_or_spawn()

    def _spawn(self) -> None:
        if self.stopping:
            return
        self._spawned += 1
        thread = threading.Thread(target=self._main, name=f"mpigrad-{self.name}-{self._spawned}", daemon=True)
        thread.start()

    def _enter_thread(self) -> int:
        """Register the current thread with the pool; returns its id."""
        me = _get_ident()
        self.threads[me] = threading.current_thread()
        for hook in self._thread_hooks:
            hook()
        return me

    def _main(self) -> None:
        """The loop of a pool thread: run queued work, else lead, else monitor, else sleep."""
        me = self._enter_thread()
        try:
            while not self.stopping:
                breathe()  # release the GIL: a waiter that was offered the lead may be waiting for it
                if self.jobs and self._run_job():
                    continue
                if self._lead.napping and not self.jobs:  # a thread polls, and there is nothing to monitor
                    self._sleep()
                elif not self._lead.polled_by_waiter and not self._lead.wanted_by and self._lead.lock.acquire(False):
                    self._run_leader()
                elif self._monitor_role.acquire(False):
                    try:
                        self._run_monitor()
                    finally:
                        self._lead.ticking = False
                        self._monitor_role.release()
                elif self._retire():
                    return
                else:
                    self._sleep()
        except Exception:
            logger.exception("a thread of the RPC pool ended with an error")
        finally:
            self.threads.pop(me, None)

    def _retire(self) -> bool:
        """Return whether this thread may end, because enough others are idle."""
        return len(self._sleeping) >= self.limit + 2  # two more than functions may run: the leader and the monitor

    def _sleep(self) -> None:
        lock = Mutex()
        lock.acquire()
        self._sleeping.append(lock)
        # check again after the lock is visible: work may have arrived, or the polling thread left, in between
        if (
            (self.jobs and self._has_room())
            or self.stopping
            or not (self._lead.ticking or self._lead.lock.locked() or self._lead.napping)
        ):
            release(lock)
        lock.acquire(True, 1.0)  # with a limit: if a wake-up is missed, the thread looks again after a second
        discard(self._sleeping, lock)

    def _run_job(self) -> bool:
        work = self._next_job()
        if work is not None:
            self.run(work)
        return work is not None

    def run(self, work: Any) -> None:
        """Run user work on this thread, for which `_reserve` has made room. Errors are logged."""
        try:
            self._handler.serve(work)
        except BaseException:  # also `sys.exit` in user code, which must not end a pool thread
            logger.exception("an RPC handler ended with an error")
        finally:
            self._running.pop()
            self._finished += 1

    def _run_leader(self) -> None:
        """Poll and serve while holding the lead, until another thread takes it."""
        receive, burst, me = self._handler.receive, self._idle.burst, _get_ident()
        since = idle = 0.0
        held = True
        try:
            while not self.stopping and not self._lead.wanted_by:
                frame = self._queue.poll(burst if idle < ACTIVE_SECONDS else GLANCE)
                if frame is not None:
                    self._lead.leader = me  # `defer` must know that this thread leads
                    work = receive(frame, None)
                    self._lead.leader = 0
                    if work is not None and not self._reserve():  # the limit is reached: leave it to the next free thread
                        self.enqueue(work)
                        work = None
                else:
                    work = self._next_job()
                if work is not None:
                    self._lead.napping = False
                    held = self._run_leading(work)
                    since = idle = 0.0
                elif frame is None:
                    now = _monotonic()
                    since = since or now
                    idle = now - since
                    held = self._idle_leading(now, idle)
                else:
                    self._lead.napping = False
                    since = idle = 0.0
                if not held:
                    return
        finally:
            self._lead.just_served = self._lead.napping = False
            if held:
                self._lead.lock.release()
            if self._lead.parked and not self._lead.lock.locked():
                self._lead.wake_parked()

    def _reserve(self) -> bool:
        """Count a function as running and return True, unless the limit is reached. `run` ends the count."""
        running = self._running
        running.append(None)  # first add, then check: two threads that check first could both exceed the limit
        if len(running) - len(self.blocked) <= self.limit:
            return True
        running.pop()
        return False

    def _next_job(self) -> Any:
        """Take work from the queue and reserve room for it; None if there is none or the limit is reached."""
        if self.jobs and self._reserve():
            try:
                return self.jobs.popleft()
            except IndexError:
                self._running.pop()
        return None

    def _idle_leading(self, now: float, idle: float) -> bool:
        """As the leader: rest, as the last `idle` seconds brought no message; returns whether this thread still leads afterwards.

        After a while the lead is free during the rest, so that a thread that starts to wait can poll at once.
        """
        if idle < self._idle.active:
            self._idle.back_off(now, idle, None)
            return True
        self._lead.just_served = False
        if self.jobs:
            self._relieve(now)
        if idle > TRIM_SECONDS and (receive_pool.kept_bytes() or lending.kept_bytes()):
            receive_pool.trim()
            lending.trim()
        self._lead.lock.release()  # so that a thread that starts to wait can poll itself at once
        self._idle.back_off(now, idle, None)
        return self._lead.lock.acquire(False)

    def _run_leading(self, work: Any) -> bool:
        """As the leader: run user work, with the lead free meanwhile. Returns whether the lead could be taken back."""
        if not self._lead.ticking:
            self.ensure_monitor()
        self._lead.just_served = True
        self._lead.lock.release()  # a wait inside the function may take the lead, and so may the monitor (I2)
        self.run(work)
        return self._lead.lock.acquire(False)

    def enqueue(self, work: Any) -> None:
        """Queue work for the next free thread, and make sure that a monitor runs, which finds one if the leader is slow."""
        self.jobs.append(work)
        if not self._lead.ticking:
            self.ensure_monitor()

    def _run_monitor(self) -> None:
        """Be the monitor: check now and then whether a thread polls.

        Returns when none does (the caller becomes the leader) or when all is idle (it sleeps).
        """
        self._lead.ticking = True
        last, quiet_since, rest, doubtful = self._queue.polls, 0.0, TICK, True
        self._stalled_since = 0.0
        while not self.stopping:
            breathe()
            time.sleep(TICK if doubtful else rest)
            now = _monotonic()
            if now >= self._idle.next_housekeeping:
                self._idle.housekeep(now)
            if self.jobs:
                rest = TICK
                self._relieve(now)
            else:
                self._stalled_since = 0.0
            if self._lead.napping and not self.jobs:
                quiet_since = quiet_since or now
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
                if now - quiet_since > QUIET_SECONDS and self._may_park():
                    return
                continue
            quiet_since = 0.0
            polled, last = self._queue.polls != last, self._queue.polls
            if self._lead.lock.locked():
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
            elif not doubtful:
                doubtful = True  # the holder is between two polls, or gone: the next check, after a TICK, decides
            elif polled:
                rest, doubtful = min(2 * rest, LONGEST_TICK), False
            else:
                return

    def _may_park(self) -> bool:
        """Announce that there is no monitor, then check again whether one is needed (I1); returns whether it may sleep."""
        self._lead.ticking = False
        if not self._lead.napping:
            self._lead.ticking = True
        return not self._lead.ticking

    def _relieve(self, now: float) -> None:
        """Find a thread for queued work.

        If the limit is reached, start one beyond it when no function has returned for STALL seconds (I4).
        """
        if self._finished != self._finished_before or self._stalled_since == 0.0:
            self._finished_before, self._stalled_since = self._finished, now
        if self._has_room():
            self._wake_or_spawn()
        elif now - self._stalled_since > STALL:
            self._stalled_since = now
            self._spawn_beyond_limit()

    def _spawn_beyond_limit(self) -> None:
        try:
            work = self.jobs.popleft()
        except IndexError:
            return
        self._running.append(None)
        self._spawned += 1

        def extra() -> None:
            me = self._enter_thread()
            try:
                self.run(work)
            finally:
                self.threads.pop(me, None)

        threading.Thread(target=extra, name=f"mpigrad-{self.name}-{self._spawned}", daemon=True).start()

    def stop(self) -> None:
        """Stop the threads of the pool and wait for them: 10 seconds at most, 0.2 if user functions still run.

        Threads inside a user function end when the function returns.
        """
        if not self.stopping:
            restore()
        self.stopping = True
        while self._sleeping:
            self._wake_sleeping()
        me = _get_ident()
        began = _monotonic()
        for ident, thread in list(self.threads.items()):
            while ident != me and thread.is_alive():
                while self._sleeping:  # threads may have gone to sleep after the first round
                    self._wake_sleeping()
                thread.join(0.005)
                if _monotonic() - began > (0.2 if self._running else 10):  # a user function may never return
                    break
        self._run_last()
        with self._queue.lock:
            self._queue.drain()

    def _wake_sleeping(self) -> None:
        try:
            release(self._sleeping.pop())
        except IndexError:
            pass

    def counts(self) -> dict[str, int]:
        """Return the numbers of threads, idle threads, running functions, queued jobs and blocked threads, by name."""
        return {
            "threads": len(self.threads),
            "idle": len(self._sleeping),
            "running": len(self._running),
            "queued": len(self.jobs),
            "blocked": len(self.blocked),
        }


_C = ctypes.CDLL(None)  # created once: each CDLL creates classes, which only a full garbage collection frees


def _fine_timers() -> None:
    """Set Linux's timer slack to the minimum, as the default adds 50 us to each nap. Threads started later inherit it."""
    try:
        _C.prctl(29, ctypes.c_ulong(1), 0, 0, 0)  # PR_SET_TIMERSLACK
    except (OSError, AttributeError):
        pass


# -- waiting -----------------------------------------------------------------------------------------------------------
_HANDED_OVER, _INTERRUPTED = object(), object()
SLICE = 0.25  # longest sleep of a parked thread before it checks again whether it should poll (I5)


class Waiters:
    """What the threads do that wait for futures of one agent: poll if no other thread does, otherwise sleep."""

    def __init__(self, handler: MessageHandler, queue: SendQueue, lead: Lead, idle: Idle, pool: Pool) -> None:
        self._handler, self._queue, self._lead, self._idle, self._pool = handler, queue, lead, idle, pool

    def wait(self, fut: Future, deadline: float | None) -> None:
        """Make progress until `fut` is done or the time `deadline` (of `time.monotonic()`) has come."""
        before = enter()
        try:
            ended = self._wait(fut, deadline)
        finally:
            leave(before)
        if not ended:
            block(fut, deadline)

    def _wait(self, fut: Future, deadline: float | None) -> bool:
        """`wait`, in a guarded section. False if the pool has stopped, so that this thread can only sleep."""
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
                if found is not _HANDED_OVER:  # the answer of this wait: decoded without the lead, as it may run user code
                    self._handler.serve(found)
                    continue
            if self._sleep(fut, deadline, found is _HANDED_OVER):
                return True
        return True

    def _take_from_pool(self, fut: Future) -> bool:
        """Ask the leader for the lead; returns whether this thread got it.

        Not if the leader has just served a request: more are likely to follow, and a change of the polling thread costs
        time.
        """
        lead = self._lead
        if lead.polled_by_waiter or lead.just_served:
            return False
        lead.wanted_by.append(fut)
        try:
            return lead.lock.acquire(True, 0.001)  # the leader checks `wanted_by` after each poll
        finally:
            lead.wanted_by.pop()

    def _leave(self) -> None:
        """Release the lead, and make sure that another thread or the monitor polls."""
        lead = self._lead
        lead.polled_by_waiter = False
        lead.lock.release()
        if lead.parked:
            lead.wake_parked()
        if not lead.ticking:
            self._pool.ensure_monitor()

    def _poll_until(self, fut: Future, deadline: float | None) -> Any:
        """Poll while this thread has the lead. None if the wait is over: `fut` is done or the deadline has passed.

        Otherwise the wait goes on without the lead. _HANDED_OVER: a pool thread has taken work and the lead.
        _INTERRUPTED: a signal was noted. A frame: the answer for `fut`, which has to be decoded.
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
        """Pass user work to the pool; returns whether a thread takes it, which then takes the lead, too."""
        pool = self._pool
        mine = pool.owns_thread()
        if mine:  # a user function that waits does not count towards the limit
            pool.blocked.append(None)
        try:
            return pool.submit(work)
        finally:
            if mine:
                pool.blocked.pop()

    def _sleep(self, fut: Future, deadline: float | None, handed_over: bool) -> bool:
        """Sleep until `fut` is done, the lead is offered to this thread, or SLICE seconds have passed.

        `handed_over`: this thread has just passed the lead to a pool thread, and must not take it back at once. Returns
        whether the wait is over (`fut` is done, or the deadline has passed).
        """
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
                lead.wake_parked()  # the lead may have been offered to this thread, which no longer needs it
            return True
        return deadline is not None and _monotonic() >= deadline

    def defer(self, run: Callable[[], None]) -> bool:
        """Let the pool run `run`, user code, if the current thread polls; returns whether it did. If not, the caller runs it.

        User code must not run on a polling thread: if it waited for a message, no thread would poll for it.
        """
        me = _get_ident()
        if self._lead.poller == me:
            self._pool.submit(run)
        elif self._lead.leader == me:
            self._pool.enqueue(run)  # this thread runs it itself, without the lead, before its next idle poll
        else:
            return False
        return True
