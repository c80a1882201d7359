"""`Mutex` behaves as `threading.Lock`, compiled and in Python."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mpigrad._core.objects import Mutex


def test_one_at_a_time() -> None:
    lock = Mutex()
    assert not lock.locked()
    assert lock.acquire() is True
    assert lock.locked()
    assert lock.acquire(False) is False
    assert lock.acquire(True, 0.001) is False
    lock.release()
    assert not lock.locked()
    with lock:
        assert lock.locked()
    assert not lock.locked()


def test_what_cannot_be() -> None:
    lock = Mutex()
    with pytest.raises(RuntimeError, match="release unlocked lock"):
        lock.release()
    with pytest.raises(ValueError, match="can't specify a timeout for a non-blocking call"):
        lock.acquire(False, 1)
    with pytest.raises(ValueError, match="timeout value must be"):
        lock.acquire(True, -2)


def test_another_thread_may_give_it_back() -> None:
    lock = Mutex()
    lock.acquire()
    began = time.monotonic()
    thread = threading.Timer(0.05, lock.release)
    thread.start()
    assert lock.acquire(True, 30)
    assert 0.04 < time.monotonic() - began < 29
    thread.join()
    lock.release()


def test_a_time_limit_holds() -> None:
    lock = Mutex()
    lock.acquire()
    began = time.monotonic()
    assert not lock.acquire(timeout=0.05)
    assert time.monotonic() - began >= 0.05
    lock.release()


def test_many_threads_take_turns() -> None:
    lock, inside, most = Mutex(), [0], [0]

    def work() -> None:
        for turn in range(300):
            lock.acquire()
            try:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                if turn % 50 == 0:
                    time.sleep(0)
                inside[0] -= 1
            finally:
                lock.release()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (inside[0], most[0], lock.locked()) == (0, 1, False)


class _Alarm(Exception):
    pass


@contextmanager
def alarm(seconds: float, raises: bool) -> Iterator[list[int]]:
    """A signal after a while, and every time it came; its handler may raise."""
    came: list[int] = []

    def handler(number: int, frame: object) -> None:
        came.append(number)
        if raises:
            raise _Alarm

    before = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(seconds, signal.pthread_kill, (threading.main_thread().ident, signal.SIGUSR1))
    timer.start()
    try:
        yield came
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_signal_ends_a_wait_if_its_handler_raises() -> None:
    lock = Mutex()
    lock.acquire()
    with alarm(0.05, raises=True), pytest.raises(_Alarm):
        lock.acquire(True, 30)
    assert lock.locked()
    lock.release()


def test_a_signal_does_not_shorten_a_wait_otherwise() -> None:
    lock = Mutex()
    lock.acquire()
    began = time.monotonic()
    with alarm(0.02, raises=False) as came:
        assert not lock.acquire(True, 0.1)
    assert len(came) == 1
    assert time.monotonic() - began >= 0.1
    lock.release()


def test_a_taken_lock_may_be_forgotten() -> None:
    assert all(Mutex().acquire() for _ in range(100))
