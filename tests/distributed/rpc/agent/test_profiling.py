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
from mpigrad.distributed.rpc._agent import profiling
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.futures import Future

pytestmark = pytest.mark.mpi(min_size=2)


def double_sum(a: Any, b: Any) -> Any:
    return mpigrad.add(a, b) * 2


def passed_on(to: str, a: Any) -> Any:
    return rpc.rpc_sync(to, double_sum, args=(a, a)).exp()


def fails(a: Any) -> Any:
    raise KeyError("not here")


@rpc.functions.async_execution
def later(to: str, a: Any) -> Future:
    return rpc.rpc_async(to, mpigrad.add, args=(a, a))


class Server:
    def scale(self, a: Any) -> Any:
        return a * 3


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


@pytest.mark.host
def test_the_other_side_looks_at_what_the_caller_wants(rpc_world) -> None:
    for turn in range(rpc_world.world_size):  # memory is counted per process, so no other rank may use this one
        if rpc_world.rank == turn:
            look_at_everything(rpc_world.name, rpc_world.next_name)
        rpc_world.barrier()


def look_at_everything(name: str, to: str) -> None:
    x = mpigrad.ones(500, 500)
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as prof:
        rpc.rpc_async(to, double_sum, args=(x, x)).wait()
        rpc.remote(to, double_sum, args=(x, x)).to_here()
    for kind in ("rpc_async", "rpc_remote"):
        event = found(prof, f"{kind}#double_sum({name} -> {to})#remote_op: aten::add")
        assert event.input_shapes[:2] == [[500, 500], [500, 500]]
        assert event.flops == 250_000 and event.cpu_memory_usage >= 900_000  # a little may be freed meanwhile
    table = prof.key_averages().table(row_limit=-1)
    assert "Node ID" in table and "CPU Mem" in table


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


def names_of(prof: profile) -> list[str]:
    return [event.name for event in prof.function_events or ()]


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize("kind", ["rpc_sync", "rpc_async", "rpc_remote"])
def test_names_are_pytorchs(rpc_world, kind) -> None:
    """Compared with what its (legacy) profiler gives for the same calls."""
    x, me, to, on = mpigrad.ones(2), rpc_world.name, rpc_world.next_name, rpc_world.worker(rpc_world.rank + 2)

    def call(function: Any, *args: Any) -> list[str]:
        with profile() as prof:
            made = getattr(rpc, kind.removeprefix("rpc_remote") or "remote")(to, function, args=args)
            if kind != "rpc_sync":
                made = made.wait() if kind == "rpc_async" else made.to_here()
        assert made.tolist() == [2.0, 2.0]
        return [name for name in names_of(prof) if not name.startswith("to_here")]

    title = f"{kind}#aten::add({me} -> {to})"
    assert call(mpigrad.add, x, x) == [title, f"{title}#remote_op: aten::add"]
    title = f"{kind}#later({me} -> {to})"
    inner = f"{title}#remote_op: rpc_async#aten::add({to} -> {on})"
    assert call(later, on, x) == [title, inner, f"{inner}#remote_op: aten::add"]
    assert any("#remote_op: aten::mul" in name for name in call(lambda a: a * 2, x))
    rpc_world.barrier()


def test_methods_of_rrefs_and_to_here(rpc_world) -> None:
    x, me, to = mpigrad.ones(2), rpc_world.name, rpc_world.next_name
    server = rpc.remote(to, Server)
    for kind in ("rpc_sync", "rpc_async", "remote"):
        with profile() as prof:
            made = getattr(server, kind)().scale(x)
            made = made if kind == "rpc_sync" else made.wait() if kind == "rpc_async" else made.to_here()
        assert made.tolist() == [3.0, 3.0]
        title = f"{'rpc_remote' if kind == 'remote' else kind}#Server.scale({me} -> {to})"
        assert {title, f"{title}#remote_op: aten::mul"} <= set(names_of(prof))
        assert (f"to_here#({me})->({to})" in names_of(prof)) is (kind == "remote")
    rpc_world.barrier()


def test_calls_that_fail_are_noted(rpc_world) -> None:
    x, to = mpigrad.ones(2), rpc_world.next_name
    with profile() as prof:
        with pytest.raises(KeyError, match="not here"):
            rpc.rpc_sync(to, fails, args=(x,))
        with pytest.raises(KeyError, match="not here"):
            rpc.rpc_async(to, fails, args=(x,)).wait()
        with pytest.raises(KeyError, match="not here"):
            rpc.remote(to, fails, args=(x,)).to_here()
    wanted = [f"{kind}#fails({rpc_world.name} -> {to})" for kind in ("rpc_sync", "rpc_async", "rpc_remote")]
    assert [event.name for event in prof.function_events or () if event.is_async] == wanted
    rpc_world.barrier()
    assert extensions.profiler is None and not profiling._reported


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
