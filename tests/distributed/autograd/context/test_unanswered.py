"""Calls inside a context that are never answered: nothing is kept, whether their answers were to be recorded or not."""

from __future__ import annotations

from collections.abc import Sized

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.message import MessageType
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

CALLS = 50


def things_kept(agent) -> dict[str, int]:
    """How many entries each table of an agent has."""
    tables = {"latencies": agent.calls.latency._began}
    for part in (agent, agent.calls, agent.server, agent.sender, agent.progress.queue, agent.progress.pool):
        names = [name for name in dir(part) if not name.startswith("__")]  # some have no place in the part's __dict__
        tables |= {f"{type(part).__name__}.{name}": getattr(part, name, None) for name in names}
    return {name: len(table) for name, table in tables.items() if isinstance(table, Sized)}


def a_call(to: int, timeout: float = 0.02) -> rpc.Future:
    return rpc.rpc_async(to, mpigrad.add, args=(mpigrad.ones(2, requires_grad=True), 1.0), timeout=timeout)


@pytest.mark.parametrize("recorded", [True, False])
def test_calls_that_time_out(recorded: bool) -> None:
    def lose_calls(src: int, dst: int, frame: bytes) -> float | None:
        return None if frame[0] == MessageType.SCRIPT_CALL else 0.0

    with world_in_memory(2, fate=lose_calls, graceful=False) as agents, acting_as(agents[0]):
        before = things_kept(agents[0])
        with dist_autograd.context(), mpigrad.set_grad_enabled(recorded):
            for fut in [a_call(1) for _ in range(CALLS)]:
                with pytest.raises(RuntimeError, match="timeout"):
                    fut.wait()
        eventually(lambda: things_kept(agents[0]), equals=before)


@pytest.mark.parametrize("recorded", [True, False])
def test_calls_whose_worker_leaves(recorded: bool) -> None:
    with world_in_memory(2, fate=lambda *_: None, graceful=False) as agents, acting_as(agents[0]):
        before = things_kept(agents[0])
        with dist_autograd.context(), mpigrad.set_grad_enabled(recorded):
            futures = [a_call(1, timeout=60) for _ in range(CALLS)]
            agents[0].lose(1, "worker1 has left")
            for fut in futures:
                with pytest.raises(RuntimeError, match="has left"):
                    fut.wait()
        gone = {"Agent.gone": 1, "Agent.left": 1, "CallTable._gone": 1, "Agent.workers": 1, "Agent.by_name": 1}
        eventually(lambda: things_kept(agents[0]), equals={**before, **gone})
