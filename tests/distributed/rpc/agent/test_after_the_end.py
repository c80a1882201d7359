"""Calls of an agent that shuts down: those under way fail, late ones are refused, and waiting threads return."""

from __future__ import annotations

import threading

import pytest

from mpigrad.distributed.rpc._world.leaving import leave
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


def test_callbacks_of_calls_under_way_run_when_the_agent_ends() -> None:
    with world_in_memory(2, graceful=False) as agents, acting_as(agents[0]):
        calls = [agents[0].call(1, far.poll_flag, ("never",), None, 0) for _ in range(200)]
        texts = [call.then(lambda fut: str(failure(fut))) for call in calls]
        eventually(lambda: agents[1].server.running)
        leave(agents[0], False, 0)
        assert all(text.done() and "has shut down" in text.value() for text in texts)
        far.set_flag("never")
        eventually(lambda: not agents[1].server.running)
    far.FLAGS.clear()


def failure(fut) -> BaseException | None:
    try:
        fut.value()
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("timeout", [0, 30])
def test_a_call_that_comes_too_late_fails_at_once(timeout) -> None:
    with world_in_memory(2, graceful=False) as agents, acting_as(agents[0]):
        leave(agents[0], False, 0)
        late = agents[0].call(1, far.nothing, None, None, timeout)
        assert late.done() and "has shut down" in str(failure(late))
        with pytest.raises(RuntimeError, match="has shut down"):
            agents[0].call_sync(1, far.nothing, None, None, timeout)


def test_a_thread_that_calls_all_the_time_notices_the_end() -> None:
    with world_in_memory(2, graceful=False) as agents:
        errors: list[BaseException] = []

        def call_on() -> None:
            with acting_as(agents[0]):
                try:
                    while True:
                        agents[0].call_sync(1, far.nothing, None, None, 0)
                except BaseException as error:
                    errors.append(error)

        threads = [threading.Thread(target=call_on, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        with acting_as(agents[0]):
            leave(agents[0], False, 0)
        for thread in threads:
            thread.join(20)
        assert [type(error).__name__ for error in errors] == ["WorkerGoneError"] * 4
