"""Calls in the profiler: their names, the other side's operators, and one trace of all ranks."""

from __future__ import annotations

import json
import tempfile
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.autograd.profiler import profile
from mpigrad.distributed.rpc import _seams
from mpigrad.futures import Future

pytestmark = pytest.mark.mpi(min_size=2)


def double_sum(a: Any, b: Any) -> Any:
    return mpigrad.add(a, b) * 2


def passed_on(to: str, a: Any) -> Any:
    return rpc.rpc_sync(to, double_sum, args=(a, a)).exp()


def fails(a: Any) -> Any:
    raise KeyError("not here")


@rpc.functions.async_execution
def later(a: Any) -> Future:
    fut: Future = Future()
    fut.set_result(a + 1)
    return fut


def found(prof: profile, name: str) -> Any:
    (event,) = [each for each in prof.function_events or () if each.name == name]
    return event


def inside(event: Any, other: Any) -> bool:
    return other.time_range.start <= event.time_range.start <= event.time_range.end <= other.time_range.end


@pytest.mark.parametrize("kind", ["rpc_sync", "rpc_async"])
def test_a_call_and_the_operators_it_ran(rpc_world, kind) -> None:
    x, to = mpigrad.ones(2, 2), rpc_world.next_name
    with profile() as prof:
        result = getattr(rpc, kind)(to, double_sum, args=(x, x))
        result = result.wait() if kind == "rpc_async" else result
    assert result.tolist() == [[4.0, 4.0], [4.0, 4.0]]
    name = f"{kind}#double_sum({rpc_world.name} -> {to})"
    call = found(prof, name)
    assert (call.node_id, call.is_remote) == (rpc_world.rank, False)
    for operator in ("aten::add", "aten::mul"):
        event = found(prof, f"{name}#remote_op: {operator}")
        assert (event.node_id, event.is_remote) == (rpc_world.next_rank, True)
        assert inside(event, call)
    rpc_world.barrier()


@pytest.mark.mpi(min_size=4)
def test_calls_made_by_the_function_come_back_too(rpc_world) -> None:
    x, to, on = mpigrad.ones(2), rpc_world.worker(rpc_world.rank + 1), rpc_world.worker(rpc_world.rank + 2)
    with profile() as prof:
        rpc.rpc_sync(to, passed_on, args=(on, x))
    first = f"rpc_sync#passed_on({rpc_world.name} -> {to})#remote_op: "
    second = first + f"rpc_sync#double_sum({to} -> {on})"
    assert found(prof, first + "aten::exp").node_id == (rpc_world.rank + 1) % rpc_world.world_size
    assert found(prof, second).node_id == (rpc_world.rank + 1) % rpc_world.world_size
    assert found(prof, second + "#remote_op: aten::mul").node_id == (rpc_world.rank + 2) % rpc_world.world_size
    rpc_world.barrier()


def test_other_ways_to_call_are_named(rpc_world) -> None:
    x, to = mpigrad.ones(2), rpc_world.next_name
    with profile() as prof:
        assert rpc.remote(to, double_sum, args=(x, x)).to_here().tolist() == [4.0, 4.0]
        assert rpc.rpc_sync(to, later, args=(x,)).tolist() == [2.0, 2.0]
        with pytest.raises(KeyError, match="not here"):
            rpc.rpc_sync(to, fails, args=(x,))
        with pytest.raises(KeyError, match="not here"):
            rpc.rpc_async(to, fails, args=(x,)).wait()
        assert rpc.rpc_sync(to, mpigrad.add, args=(x, x)).tolist() == [2.0, 2.0]
    names = [event.name for event in prof.function_events or () if event.flow]
    for start in ("remote#double_sum", "rpc_sync#later", "rpc_sync#fails", "rpc_async#fails", "rpc_sync#add"):
        assert f"{start}({rpc_world.name} -> {to})" in names
    rpc_world.barrier()
    assert _seams.profiler is None


def test_gradients_pass_through_calls_that_are_watched(rpc_world) -> None:
    x = mpigrad.ones(2, requires_grad=True)
    with profile(), dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, double_sum, args=(x, x)).sum()
        dist_autograd.backward(context_id, [loss])
        assert dist_autograd.get_gradients(context_id)[x].tolist() == [4.0, 4.0]
    rpc_world.barrier()


def test_one_trace_of_all_ranks_with_arrows(rpc_world) -> None:
    x = mpigrad.ones(2)
    with profile() as prof:
        rpc.rpc_sync(rpc_world.next_name, double_sum, args=(x, x))
    with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as file:
        prof.export_chrome_trace(file.name)
        events = json.load(file)["traceEvents"]
    assert {event["pid"] for event in events} == {rpc_world.rank, rpc_world.next_rank}
    start, end = ([event for event in events if event["ph"] == phase] for phase in "sf")
    assert len(start) == len(end) == 1 and start[0]["id"] == end[0]["id"]
    assert (start[0]["pid"], end[0]["pid"]) == (rpc_world.rank, rpc_world.next_rank)
    assert start[0]["ts"] <= end[0]["ts"]
    rpc_world.barrier()
