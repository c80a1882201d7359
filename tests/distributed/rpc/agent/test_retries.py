"""Calls with `retries`: made again after lost messages and timeouts, never after an error of the function."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._agent import retries
from mpigrad.distributed.rpc._protocol.errors import RpcTimeoutError, SendFailedError
from mpigrad.distributed.rpc._testing.faults import Faults
from mpigrad.distributed.rpc._world.leaving import leave
from mpigrad.futures import Future
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

runs: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    runs.clear()
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.005)


def add(key: str, x: int, y: int) -> int:
    runs[key] += 1
    return x + y


def slow_first(key: str, seconds: float) -> int:
    """Slow when it first runs."""
    runs[key] += 1
    number = runs[key]
    if number == 1:
        time.sleep(seconds)
    return number


@rpc.functions.async_execution
def later(key: str, seconds: float) -> Future:
    runs[key] += 1
    fut: Future = Future()
    timer = threading.Timer(seconds, lambda: fut.set_result(runs[key]))
    timer.start()
    return fut


def fails(key: str, kind: type[Exception]) -> None:
    runs[key] += 1
    raise kind("of the function")


@pytest.mark.parametrize("at_most_once", [False, True])
def test_unsent_calls_are_made_again(at_most_once: bool) -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 2)
        assert rpc.rpc_sync(1, add, args=("sync", 1, 2), retries=2, at_most_once=at_most_once) == 3
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 2)
        assert rpc.rpc_async("worker1", add, ("async", 1), {"y": 2}, retries=2, at_most_once=at_most_once).wait() == 3
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 3)
        with pytest.raises(SendFailedError):
            rpc.rpc_sync(1, add, args=("too often", 1, 2), retries=2, at_most_once=at_most_once)
    assert runs == {"sync": 1, "async": 1}


def test_without_retries_nothing_is_repeated() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        with pytest.raises(RpcTimeoutError):
            rpc.rpc_sync(1, slow_first, args=("slow", 0.3), timeout=0.05)
        time.sleep(0.4)
    assert runs["slow"] == 1


def test_idempotent_functions_run_again_after_a_timeout() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        assert rpc.rpc_sync(1, slow_first, args=("slow", 1.0), timeout=0.3, retries=3) == 2
    assert runs["slow"] == 2


@pytest.mark.parametrize("function", [slow_first, later])
def test_at_most_once_gets_the_answer_of_the_first_run(function) -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        assert rpc.rpc_sync(1, function, args=("slow", 0.8), timeout=0.3, retries=8, at_most_once=True) == 1
        assert rpc.rpc_sync(1, add, args=("other", 1, 2), retries=1, at_most_once=True) == 3
        answers = agents[1].slots[retries._ANSWERS]
        assert [len(known) for known in answers._known.values()] == [1], "the first answer is forgotten"
    assert runs == {"slow": 1, "other": 1}
    assert not retries._pending


def test_a_late_copy_of_a_settled_request_is_refused() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults([], {"PYTHON_CALL": 0.3}, 0)
        with pytest.raises(RpcTimeoutError):
            rpc.rpc_sync(1, add, args=("late", 1, 2), timeout=0.02, retries=1, at_most_once=True)
        agents[0].sender.faults = None
        assert rpc.rpc_sync(1, add, args=("next", 1, 2), retries=1, at_most_once=True) == 3
        time.sleep(0.5)  # both copies have arrived
    assert runs == {"next": 1}


@pytest.mark.parametrize("kind", [ValueError, RpcTimeoutError, SendFailedError])
@pytest.mark.parametrize("at_most_once", [False, True])
def test_errors_of_the_function_are_final(kind: type[Exception], at_most_once: bool) -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        with pytest.raises(kind, match="of the function"):
            rpc.rpc_sync(1, fails, args=("fails", kind), retries=3, at_most_once=at_most_once)
    assert runs["fails"] == 1


def test_many_threads_share_the_numbers() -> None:
    with world_in_memory(2) as agents:
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 1)
        wrong: list[object] = []

        def call(number: int) -> None:
            with acting_as(agents[0]):
                for step in range(20):
                    key = f"{number} {step}"
                    found = rpc.rpc_sync(1, add, args=(key, number, step), retries=3, at_most_once=True)
                    wrong.extend([key] if found != number + step else [])

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert not wrong and set(runs.values()) == {1} and len(runs) == 80


@pytest.mark.parametrize("at_most_once", [False, True])
def test_gradients_of_a_repeated_call(at_most_once: bool) -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]), dist_autograd.context() as context_id:
        agents[0].sender.faults = Faults(["PYTHON_CALL"], {}, 1)
        x = mpigrad.ones(3, requires_grad=True)
        y = rpc.rpc_sync(1, times, args=(x, 5.0), retries=1, at_most_once=at_most_once)
        dist_autograd.backward(context_id, [y.sum()])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [5.0] * 3


def times(x: mpigrad.Tensor, by: float) -> mpigrad.Tensor:
    return x * by


def test_wrong_numbers_of_retries() -> None:
    with world_in_memory(1) as agents, acting_as(agents[0]):
        for wrong in (-1, 1.5):
            with pytest.raises(ValueError, match=r"retries is the number of further attempts.*got"):
                rpc.rpc_sync(0, add, args=("wrong", 1, 2), retries=wrong)  # type: ignore[call-overload]


def call_between_attempts(agent) -> Future:
    """A call whose first attempt has failed, and which waits for the second one."""
    agent.sender.faults = Faults(["PYTHON_CALL"], {}, 1)
    fut = rpc.rpc_async(1, add, args=("repeated", 1, 2), retries=1)
    eventually(lambda: retries._repeating(agent))
    return fut


def test_shutdown_waits_for_a_call_between_two_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 0.3)
    with world_in_memory(2) as agents, acting_as(agents[0]):
        fut = call_between_attempts(agents[0])
    assert fut.value() == 3


def test_a_call_between_two_attempts_fails_when_its_agent_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "RETRY_SECONDS", 60.0)
    with world_in_memory(2) as agents, acting_as(agents[0]):
        fut = call_between_attempts(agents[0])
        leave(agents[0], graceful=False, timeout=0)
        with pytest.raises(RuntimeError, match="has shut down"):
            fut.value()
    assert not runs
