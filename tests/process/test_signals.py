"""Guarded sections: signal handlers run at their end; the program does not notice the replaced handlers."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from mpigrad._core import guard
from mpigrad._core.objects import Mutex
from mpigrad._process import signals

USR1, USR2 = signal.SIGUSR1, signal.SIGUSR2


class Handler:
    """Notes each signal, and may raise."""

    def __init__(self, error: type[BaseException] | None = None) -> None:
        self.seen: list[int] = []
        self.error = error

    def __call__(self, number: int, frame: object) -> None:
        self.seen.append(number)
        if self.error is not None:
            raise self.error


@pytest.fixture(autouse=True)
def protected() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (USR1, USR2)}
    signals.protect()
    guard.leave(guard.enter())
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    signals.unprotect()
    guard.leave(guard.enter())
    assert signal.signal.__module__ == "signal" and signal.signal is signals._signal


def test_a_handler_waits_for_the_end_of_the_outermost_section() -> None:
    handler = Handler()
    signal.signal(USR1, handler)
    outer = guard.enter()
    inner = guard.enter()
    signal.raise_signal(USR1)
    assert not handler.seen and guard.interrupted()
    guard.leave(inner)
    assert not handler.seen
    guard.leave(outer)
    assert handler.seen == [USR1] and not guard.interrupted()
    signal.raise_signal(USR1)
    assert handler.seen == [USR1, USR1]


def test_what_a_handler_raises_comes_out_of_leave_and_later_sections_are_whole() -> None:
    signal.signal(USR1, Handler(KeyboardInterrupt))
    before = guard.enter()
    signal.raise_signal(USR1)
    with pytest.raises(KeyboardInterrupt):
        guard.leave(before)
    before = guard.enter()
    assert before == 0
    guard.leave(before)


def test_every_signal_is_handled_although_a_handler_raises() -> None:
    raising, other = Handler(KeyboardInterrupt), Handler()
    signal.signal(USR1, raising)
    signal.signal(USR2, other)
    before = guard.enter()
    for number in (USR1, USR2, USR1):
        signal.raise_signal(number)
    with pytest.raises(KeyboardInterrupt):
        guard.leave(before)
    assert raising.seen == [USR1] and other.seen == [USR2]


def test_code_of_users_inside_a_section_is_interrupted() -> None:
    signal.signal(USR1, Handler(KeyboardInterrupt))
    before = guard.enter()
    try:
        suspended = guard.suspend()
        with pytest.raises(KeyboardInterrupt):
            try:
                signal.raise_signal(USR1)
            finally:
                guard.resume(suspended)
        signal.raise_signal(USR1)  # noted
        with pytest.raises(KeyboardInterrupt):
            guard.suspend()
        signal.raise_signal(USR1)
        with pytest.raises(KeyboardInterrupt):
            guard.deliver()
        signal.raise_signal(USR1)
        assert guard.interrupted()
    finally:
        with pytest.raises(KeyboardInterrupt):
            guard.leave(before)


def test_other_threads_have_no_sections() -> None:
    handler = Handler()
    signal.signal(USR1, handler)
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend([guard.enter(), guard.suspend(), guard.interrupted()]))
    thread.start()
    thread.join()
    assert found == [-1, -1, False]
    signal.raise_signal(USR1)
    assert handler.seen == [USR1]


def test_a_signal_ends_a_rest() -> None:
    handler = Handler()
    signal.signal(USR1, handler)
    lock = Mutex()
    lock.acquire()
    timer = threading.Timer(0.05, lambda: signal.pthread_kill(threading.main_thread().ident, USR1))
    timer.start()
    before = guard.enter()
    began = time.monotonic()
    guard.rest(lock, 20)
    assert time.monotonic() - began < 10 and not handler.seen
    guard.rest(lock, 20)  # what was noted is looked for first
    guard.leave(before)
    timer.join()
    assert handler.seen == [USR1] and time.monotonic() - began < 10


def test_in_a_finaliser_handlers_run_a_little_later() -> None:
    handler = Handler()
    signal.signal(USR1, handler)
    before = guard.enter()
    signal.raise_signal(USR1)
    assert not handler.seen
    guard.leave_later(before)  # the handler may run at once after this, but not in it
    limit = time.monotonic() + 10
    while not handler.seen and time.monotonic() < limit:
        time.sleep(0.001)
    assert handler.seen == [USR1]


def test_programs_see_their_own_handlers() -> None:
    first, second = Handler(), Handler()
    signal.signal(USR1, first)
    assert signal.getsignal(USR1) is first
    assert signal.signal(USR1, second) is first
    assert signal.signal(USR1, signal.SIG_IGN) is second and signal.getsignal(USR1) is signal.SIG_IGN
    assert signal.signal(USR1, first) is signal.SIG_IGN
    with pytest.raises(TypeError):
        signal.signal(USR1, "no handler")
    assert signal.getsignal(USR1) is first
    assert signal.getsignal(signal.SIGINT) is not signals._arrived


def test_handlers_are_given_back() -> None:
    first = Handler()
    signal.signal(USR1, first)
    signals.unprotect()
    guard.leave(guard.enter())
    assert signals._getsignal(USR1) is first and signal.getsignal is signals._getsignal
    signals.protect()
    guard.leave(guard.enter())
    assert signals._getsignal(USR1) is signals._arrived and signal.getsignal(USR1) is first
