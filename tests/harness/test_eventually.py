"""`eventually` waits until its condition holds, returns what the condition returned, and fails after its deadline."""

from __future__ import annotations

import re
import threading
import time
from types import SimpleNamespace

import pytest

from tests.support.eventually import eventually


def test_it_returns_as_soon_as_the_condition_holds() -> None:
    came: list[int] = []
    thread = threading.Timer(0.05, came.append, (7,))
    thread.start()
    assert eventually(lambda: came) == [7]
    thread.join()
    assert eventually(came.copy, equals=[7]) == [7]


def test_something_false_can_be_waited_for() -> None:
    left = [3, 2, 1]
    assert eventually(lambda: left.pop() and left, equals=[]) == []


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_condition_that_never_holds_fails(seconds: float) -> None:
    looks: list[int] = []
    began = time.monotonic()
    text = f"eventually(lambda: looks.append(1), seconds=seconds)` gave None and not something true for {seconds:g} s"
    with pytest.raises(AssertionError, match=re.escape(text)):
        eventually(lambda: looks.append(1), seconds=seconds)
    assert time.monotonic() - began >= seconds
    assert looks


def left_over() -> dict[str, int]:
    return {"calls": 2}


def test_a_value_that_stays_another_is_named() -> None:
    with pytest.raises(AssertionError, match=re.escape("left_over gave {'calls': 2} and not {} for 0.01 s")):
        eventually(left_over, equals={}, seconds=0.01)


def test_errors_of_the_condition_are_not_waited_out() -> None:
    with pytest.raises(ZeroDivisionError):
        eventually(lambda: 1 // 0)


def test_the_last_look_is_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the first check may take longer than the whole deadline; then a second check decides."""
    moments, looks = iter([0.0, 0.1, 100.0]), iter([False, True])
    clock = SimpleNamespace(monotonic=lambda: next(moments), sleep=lambda seconds: None)
    monkeypatch.setattr("tests.support.eventually.time", clock)
    assert eventually(lambda: next(looks))
