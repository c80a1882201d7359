"""`Work`: a pending MPI operation, and how to wait for it without blocking other threads.

Operations are non-blocking. The waiting thread tests them, first without a pause for about the time that the operation itself
takes (small ones take microseconds, and large ones progress only while MPI is called), then with growing pauses: pool threads
can serve RPC meanwhile, no core is kept busy, and timeouts are noticed. With more ranks than cores the pauses begin at once.
Futures must complete even if no thread waits: one background thread tests those, and ends when there are none. With
MPI_THREAD_SERIALIZED every MPI call takes the lock of the process, which RPC takes too.

A program may drop a `Work` without waiting for it. MPI goes on to use its buffers, so they are kept until a later operation finds
it complete.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from mpigrad.futures import Future

from .. import _mpi
from .._mpi import mpi_turn, oversubscribed

_SHORTEST, _LONGEST = 20e-6, 1e-3  # pauses between two tests, in seconds
_AT_ONCE = 100  # tests before the first pause; a core that is given away comes back milliseconds later if others compute
_BYTES_PER_SECOND = 1e9  # a low estimate of the speed of transfers


class Work:
    """A started operation of a process group: `wait()` waits for it, `is_completed()` tests it.

    `isend`, `irecv` and collectives with `async_op=True` return it; programs do not create one.

    Args:
        name: of the operation, for error messages.
        request: a request of MPI, or an object with the same `Test`.
        finish: called once, with this object, when the request is complete; copies and returns the result.
        seconds: the timeout; None for no limit.
        keep: the buffers that MPI uses until then.
    """

    def __init__(
        self, name: str, request: Any, finish: Callable[[Any], Any], seconds: float | None, keep: Any = None
    ) -> None:
        self._name, self._request, self._finish, self._seconds = name, request, finish, seconds
        self._keep = keep  # buffers that MPI uses until the operation is complete
        self._lock = threading.Lock()
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None
        self._source, self._bytes = -1, 0
        self._status = _mpi.mpi().Status() if name == "recv" else None
        if _dropped:
            _forget_completed()
        self._on_taking: Callable[[], None] | None = None  # with GPUs: makes the streams of a thread that reads the result wait

    def __del__(self) -> None:
        if not getattr(self, "_done", True) and self._keep is not None:
            _dropped.append((self._request, self._keep))

    def is_completed(self) -> bool:
        """Return, without waiting, whether the operation has ended, with its result in the tensors or with an error."""
        with self._lock:
            return self._test()

    def _test(self) -> bool:
        if not self._done:
            try:
                with mpi_turn():
                    self._done = self._request.Test(self._status)
                if self._done:
                    if self._status is not None:
                        self._source, self._bytes = self._status.Get_source(), self._status.Get_count(_mpi.mpi().BYTE)
                    self._result = self._finish(self)
            except Exception as error:
                self._done, self._error = True, error
            if self._done:
                self._keep = self._request = None  # MPI does not use the buffers any more
        return self._done

    def wait(self, timeout: Any = None) -> bool:
        """Wait until the operation is complete, and return True; raises its error if it has failed.

        RuntimeError after `timeout` (a `timedelta`; by default that of the group).
        """
        if not self.is_completed():
            self._wait(timeout.total_seconds() if timeout else self._seconds)
        if self._error is not None:
            raise self._error
        if self._on_taking is not None:
            self._on_taking()
        return True

    def _wait(self, seconds: float | None, tests: int = 0) -> None:
        """Test until the operation is complete; RuntimeError after `seconds`. `tests` is how often it has been tested before."""
        start = time.monotonic()
        busy_until = start + (0 if oversubscribed() else _LONGEST + _bytes_of(self._keep) / _BYTES_PER_SECOND)
        pause = _SHORTEST
        while not self.is_completed():
            tests += 1
            if tests < _AT_ONCE or (now := time.monotonic()) < busy_until:
                continue
            if seconds is not None and now > start + seconds:
                raise self._late(seconds)
            time.sleep(pause)
            pause = min(pause * 1.3, _LONGEST)

    def _late(self, seconds: float | None) -> RuntimeError:
        return RuntimeError(
            f"{self._name} did not end within {seconds} s: another rank of the group has not called it, or is gone"
        )

    def is_success(self) -> bool:
        """Return, without waiting, whether the operation has ended without an error."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """Return the error with which the operation ended; None if it succeeded or has not ended."""
        return self._error if self.is_completed() else None

    def synchronize(self) -> None:
        """Wait until the operation is complete, as `wait()` does, up to the timeout of the group."""
        self.wait()

    def source_rank(self) -> int:
        """Return the group rank of the process from which a receive got its message; -1 before the receive is complete."""
        return self._source

    def result(self) -> Any:
        """Wait until the operation is complete, and return the list of the tensors that got its result."""
        self.wait()
        return self._result

    def get_future(self) -> Future:
        """Return at once a `Future` of the list of the tensors with the result; a background thread completes it when the
        operation ends.
        """
        future: Future = Future()
        _complete_later(self, future)
        return future


_dropped: list[tuple[Any, Any]] = []  # requests and buffers of operations that were dropped before they were complete


def _forget_completed() -> None:
    """Free the buffers of dropped operations that are complete by now."""
    for _ in range(len(_dropped)):
        try:
            request, keep = _dropped.pop(0)
        except IndexError:  # another thread does the same
            return
        try:
            with mpi_turn():
                done = request.Test()
        except Exception:  # the operation has failed, and the program does not want to know
            continue
        if not done:
            _dropped.append((request, keep))


def _bytes_of(buffers: Any) -> int:
    """Return the size of the buffers of an operation, from which its duration is estimated."""
    return sum(getattr(each, "nbytes", 0) for each in (buffers if isinstance(buffers, tuple) else (buffers,)))


def run_to_end(name: str, group: Any, begin: Callable[[], Any], keep: Any, timeout: timedelta | None = None) -> None:
    """Start an operation of a group with `begin()`, which returns an MPI request, and wait until it is complete.

    No `Work` is made if it ends soon. `keep` has the buffers; `timeout` is by default that of the group.
    """
    if _dropped:
        _forget_completed()
    turn, request = mpi_turn(), None
    try:
        with turn:
            request = group.begin(name, begin)
        for _ in range(_AT_ONCE):
            with turn:
                if request.Test():
                    return
    except BaseException:  # perhaps an interrupt, and MPI goes on to use the buffers
        if request is not None:
            _dropped.append((request, keep))
        raise
    seconds = (timeout or group.timeout).total_seconds()
    work = Work(name, request, lambda _: None, seconds, keep)
    work._wait(seconds, _AT_ONCE)
    work.wait()


_awaited: list[tuple[Work, Future, float | None]] = []  # with the deadline of each
_awaiting = threading.Lock()


def _complete_later(work: Work, future: Future) -> None:
    """Complete `future` when `work` completes; starts the background thread unless it runs."""
    deadline = None if work._seconds is None else time.monotonic() + work._seconds
    with _awaiting:
        _awaited.append((work, future, deadline))
        if len(_awaited) == 1:  # the thread ends, under this lock, when the list is empty
            threading.Thread(target=_complete_all, name="mpigrad-futures-of-work", daemon=True).start()


def _complete_all() -> None:
    """The background thread: complete futures as their operations end."""
    pause = _SHORTEST
    while True:
        with _awaiting:
            entries = list(_awaited)
        ended = [entry for entry in entries if _completed(*entry)]
        with _awaiting:
            for entry in ended:
                _awaited.remove(entry)
            if not _awaited:
                return
        pause = _SHORTEST if ended else min(pause * 1.3, _LONGEST)
        time.sleep(pause)


def _completed(work: Work, future: Future, deadline: float | None) -> bool:
    """Complete `future` if `work` is complete, has failed or is late; returns whether it was completed."""
    try:
        if not work.is_completed():
            if deadline is None or time.monotonic() < deadline:
                return False
            raise work._late(work._seconds)
        if work._error is not None:
            raise work._error
        result = work._result
    except Exception as error:
        future._set(2, error)
    else:
        future.set_result(result)
    return True
