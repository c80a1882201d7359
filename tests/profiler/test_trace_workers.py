"""One trace of all workers: whose it is, what is in it, arrows, phases of backward, clocks; and nothing stays behind."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
import mpigrad.profiler
from mpigrad._core.rpc.calls import INSTRUMENTS
from mpigrad._graph.grad_mode import TRACING
from mpigrad.profiler._workers.clocks import Clock, Reading, read

Json = dict[str, Any]


def double(a: Any) -> Any:
    return a * 2


def twice(to: str, a: Any) -> Any:
    return (a * rpc.rpc_sync(to, double, args=(a,))).exp()


def meeting_at_home(workers: list[str]) -> tuple[list[float], list[float]]:
    """A pass with a held part: two calls use one result, whose gradients meet on this worker."""
    x = mpigrad.ones(2, requires_grad=True)
    with dist_autograd.context() as context_id:
        hidden = rpc.rpc_sync(workers[1], twice, args=(workers[2], x)) * 3
        futures = [rpc.rpc_async(to, double, args=(hidden,)) for to in workers[1:3]]
        dist_autograd.backward(context_id, [(futures[0].wait() + futures[1].wait()).sum()])
        return dist_autograd.get_gradients(context_id)[x].tolist(), hidden.tolist()


def events_of(world: Any) -> list[Json]:
    with mpigrad.profiler.trace_workers() as trace, mpigrad.profiler.record_function("my step"):
        assert meeting_at_home([world.worker(rank) for rank in range(3)]) == expected()
    return trace.chrome["traceEvents"]


def expected() -> tuple[list[float], list[float]]:
    """The same on one worker."""
    x = mpigrad.ones(2, requires_grad=True)
    hidden = (x * double(x)).exp() * 3
    (double(hidden) + double(hidden)).sum().backward()
    assert x.grad is not None
    return x.grad.tolist(), hidden.tolist()


def slices(events: list[Json], rank: int) -> list[str]:
    return [event["name"] for event in events if event["ph"] == "X" and event["pid"] == rank]


class Stage:
    def forward(self, a: Any) -> Any:
        return a * 2


@pytest.mark.mpi(min_size=2)
def test_methods_of_rrefs_have_their_own_names(rpc_world) -> None:
    if rpc_world.rank == 0:
        stage = rpc.remote(rpc_world.next_name, Stage)
        stage.rpc_sync().forward(mpigrad.ones(2))  # its type is known from now on
        with mpigrad.profiler.trace_workers() as trace:
            stage.rpc_sync().forward(mpigrad.ones(2))
            stage.remote().forward(mpigrad.ones(2)).to_here()  # the function must have ended before the trace does
            stage.rpc_async().forward(mpigrad.ones(2)).wait()
        events = trace.chrome["traceEvents"]
        here, there = slices(events, 0), slices(events, 1)
        for kind in ("rpc_sync", "rpc_async", "rpc_remote"):
            assert f"{kind}#Stage.forward(worker0 -> worker1)" in here
        assert there.count("Stage.forward") == 3 and "send Stage.forward" in here
        assert not [name for name in (*here, *there) if "_local_invoke" in name]
    rpc_world.barrier()


@pytest.mark.mpi(min_size=3)
def test_calls_operators_and_phases_of_every_worker(rpc_world) -> None:
    if rpc_world.rank == 0:
        events = events_of(rpc_world)
        here, there, third = (slices(events, rank) for rank in range(3))
        assert {"my step", "rpc_sync#twice(worker0 -> worker1)", "rpc_async#double(worker0 -> worker2)"} <= set(here)
        assert {"torch::distributed::autograd::backward", "propagate: roots", "SumBackward0"} <= set(here)
        assert {"twice", "rpc_sync#double(worker1 -> worker2)", "double", "aten::exp", "ExpBackward0"} <= set(there)
        assert {"double", "aten::mul", "MulBackward0"} <= set(third)
        for names in (there, third):
            assert {"reach", "propagate"} <= set(names)
        assert not [event for event in events if "_trace_" in event["name"]]
        names = {event["name"] for event in events if event["ph"] in "be" and event["pid"] == 0}
        assert names == {"reach phase", "held part"}
    rpc_world.barrier()


@pytest.mark.mpi(min_size=3)
def test_an_arrow_for_each_message(rpc_world) -> None:
    if rpc_world.rank == 0:
        events = events_of(rpc_world)
        ends: dict[str, dict[str, Json]] = {}
        for event in events:
            if event["ph"] in "sf":
                assert event["ph"] not in ends.setdefault(event["id"], {}), event
                ends[event["id"]][event["ph"]] = event
        assert all(set(pair) == {"s", "f"} for pair in ends.values())
        routes = [(pair["s"]["pid"], pair["f"]["pid"]) for pair in ends.values() if pair["s"]["cat"] == "rpc"]
        assert {(0, 1), (0, 2), (1, 2)} <= set(routes)
        for pair in ends.values():
            for end in pair.values():  # each end lies on something that its thread did then
                assert any(holds(event, end) for event in events), end
    rpc_world.barrier()


@pytest.mark.mpi(min_size=4)
def test_on_one_clock_messages_arrive_after_they_left(rpc_world) -> None:
    """Every worker's messages, with those that worker0 takes no part in."""
    if rpc_world.rank == 0:
        x = mpigrad.ones(2, requires_grad=True)
        with mpigrad.profiler.trace_workers() as trace:
            for _ in range(3):
                with dist_autograd.context() as context_id:
                    hidden = x.exp()
                    one, two = (rpc.rpc_async(to, twice, args=("worker2", hidden)) for to in ("worker1", "worker3"))
                    three = rpc.remote("worker3", double, args=(hidden,))
                    dist_autograd.backward(context_id, [(one.wait() * two.wait() * three.to_here()).sum()])
        ends = {phase: {each["id"]: each for each in trace.chrome["traceEvents"] if each["ph"] == phase} for phase in "sf"}
        assert ends["s"].keys() == ends["f"].keys()
        routes = {(ends["s"][call]["pid"], ends["f"][call]["pid"]) for call in ends["s"]}
        assert {(0, 1), (1, 2), (3, 2), (2, 1), (2, 3), (1, 0), (0, 3)} <= routes
        for call, left in ends["s"].items():
            came, slack = ends["f"][call], sum(trace.clock_errors_us[f"worker{e['pid']}"] for e in (left, ends["f"][call]))
            assert came["ts"] >= left["ts"] - slack, (left, came, slack)
        names = [event["name"] for event in trace.chrome["traceEvents"] if event["name"].startswith("to_here#")]
        assert names == ["to_here#(worker0)->(worker3)"] * 3
    rpc_world.barrier()


def holds(event: Json, end: Json) -> bool:
    same = event["ph"] == "X" and (event["pid"], event["tid"]) == (end["pid"], end["tid"])
    return same and event["ts"] <= end["ts"] <= event["ts"] + event["dur"]


@pytest.mark.mpi(min_size=2)
def test_clocks_are_aligned(rpc_world, tmp_path: Path) -> None:
    """On one host they are the same clock, so what was measured must be true: within its own limits."""
    if rpc_world.rank == 0:
        reading = read("worker1")
        same_host = rpc.rpc_sync("worker1", os.uname).nodename == os.uname().nodename
        assert not same_host or abs(reading.theirs - reading.ours) <= reading.error
        with mpigrad.profiler.trace_workers(str(tmp_path / "trace.json.gz")) as trace:
            rpc.rpc_sync("worker1", mpigrad.add, args=(mpigrad.ones(2), 1))
        assert trace.clock_errors_us["worker0"] == 0 < trace.clock_errors_us["worker1"]
        slack = trace.clock_errors_us["worker1"] + 1
        with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
            events = json.load(file)["traceEvents"]
        (call,) = [event for event in events if event["name"] == "rpc_sync#aten::add(worker0 -> worker1)"]
        (operator,) = [event for event in events if event["name"] == "aten::add"]
        assert (call["pid"], operator["pid"]) == (0, 1)
        assert call["ts"] - slack <= operator["ts"]
        assert operator["ts"] + operator["dur"] <= call["ts"] + call["dur"] + slack
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_nothing_stays_behind_and_one_trace_at_a_time(rpc_world) -> None:
    if rpc_world.rank == 0:
        with mpigrad.profiler.trace_workers() as trace:
            with pytest.raises(RuntimeError, match="is being traced for worker0 already"):
                with mpigrad.profiler.trace_workers():
                    pass
            with pytest.raises(RuntimeError, match="not finished"):
                trace.export_chrome_trace("unused.json")
            rpc.rpc_sync(rpc_world.next_name, double, args=(1,))
        names = {each["name"] for each in trace.chrome["traceEvents"]}
        assert any("double" in each for each in names)  # the refused trace has not ended this one
        with pytest.raises(KeyError, match="mine"), mpigrad.profiler.trace_workers():
            raise KeyError("mine")
        with mpigrad.profiler.trace_workers() as again:
            pass
        assert not slices(again.chrome["traceEvents"], 1)
    rpc_world.barrier()
    assert not TRACING.on
    assert not INSTRUMENTS.active


def test_a_clock_that_runs_slower() -> None:
    clock = Clock(Reading(1_000, 500, 10), Reading(3_000, 1_500, 30))
    assert clock.ours(500) == 1_000 and clock.ours(1_000) == 2_000 and clock.ours(1_500) == 3_000
    assert clock.error == 30
