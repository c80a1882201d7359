"""Functions that tests call on other workers."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

import mpigrad.distributed.rpc as rpc

FLAGS: dict[str, threading.Event] = {}
STARTED: dict[str, threading.Event] = {}


class CustomError(Exception):
    """An exception whose constructor takes two arguments, neither of them its message."""

    def __init__(self, code: int, hint: str) -> None:
        super().__init__(f"code {code}: {hint}")
        self.code = code
        self.hint = hint


class Counter:
    """An object to construct and to call methods of."""

    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, amount: int) -> int:
        self.value += amount
        return self.value

    @staticmethod
    def double(x: int) -> int:
        return 2 * x

    @classmethod
    def name(cls) -> str:
        return cls.__name__


def echo(x: Any) -> Any:
    return x


def add(x: Any, y: Any) -> Any:
    return x + y


def nothing() -> None:
    return None


def whoami() -> str:
    return rpc.get_worker_info().name


def fail(error: type[Exception], *args: Any) -> None:
    raise error(*args)


def fail_custom() -> None:
    raise CustomError(7, "left")


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def unpicklable() -> Any:
    return threading.Lock()


def nested(depth: int, ranks: tuple[int, ...]) -> int:
    """Call on along the ring of ranks until the depth is used up; returns how deep it got."""
    if depth == 0:
        return 0
    return 1 + rpc.rpc_sync(ranks[0], nested, args=(depth - 1, ranks[1:] + ranks[:1]))


def flag(name: str) -> threading.Event:
    return FLAGS.setdefault(name, threading.Event())


def set_flag(name: str) -> None:
    flag(name).set()


def poll_flag(name: str) -> str:
    """Wait for a flag the way naive programs do."""
    limit = time.monotonic() + 40
    while not flag(name).is_set():
        if time.monotonic() > limit:
            raise TimeoutError(name)
        time.sleep(0.002)
    return name


@rpc.functions.async_execution
def add_later(to: Any, x: int, y: int) -> Any:
    return rpc.rpc_async(to, add, args=(x, y)).then(lambda fut: fut.wait() * 10)


@rpc.functions.async_execution
def not_a_future() -> int:
    return 5


@rpc.functions.async_execution
def later_error(to: Any) -> Any:
    return rpc.rpc_async(to, fail, args=(ValueError, "late"))


HELD: list[object] = []


def hold(thing: object) -> None:
    HELD.append(thing)


def ones_once(name: str, count: int) -> Any:
    """Ones, as soon as a flag is set on this worker."""
    assert flag(name).wait(50)
    return np.ones(count)
