"""Exceptions on their way to another worker: those that refuse attributes, and those with very long texts."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from mpigrad.distributed.rpc._protocol.errors import LONGEST_TEXT, RemoteTraceback, pack_error, unpack_error
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

WORKER = WorkerInfo("worker1", 1)


def sent(error: BaseException) -> Any:
    try:
        raise error
    except BaseException as caught:
        return unpack_error(pack_error(WORKER, caught))


class Frozen(Exception):
    """Refuses attributes."""

    def __init__(self, code: int) -> None:
        super().__init__(code)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Frozen refuses {name}")


def test_an_exception_that_refuses_attributes_keeps_its_remote_traceback() -> None:
    error = sent(Frozen(3))
    assert isinstance(error, Frozen) and isinstance(error, RuntimeError) and error.args == (3,)
    assert isinstance(error.__cause__, RemoteTraceback)
    assert "On WorkerInfo(id=1, name=worker1)" in str(error.__cause__) and "raise error" in str(error.__cause__)


@pytest.mark.parametrize("make", [ValueError, Frozen, lambda text: ValueError("short", text), lambda text: KeyError(text)])
def test_a_long_text_is_cut_and_the_exception_travels_whole(make: Any) -> None:
    text = "x" * 3_000_000
    error = make(text)
    if make is ValueError:
        error.__cause__ = ValueError("y" * 3_000_000)
    found = sent(error)
    assert isinstance(found, type(error)) and found.args == error.args
    assert len(str(found.__cause__)) < 5 * LONGEST_TEXT
    assert "characters)" in str(found.__cause__)


def test_a_long_text_is_not_copied_again_and_again() -> None:
    error = ValueError("x" * 8_000_000)
    tracemalloc.start()
    try:
        pack_error(WORKER, error)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * 8_000_000, "the pickled exception, and the message that it is in"
