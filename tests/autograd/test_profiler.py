"""The profiler: operators, nodes and labelled blocks, their nesting, averages, tables and traces."""

from __future__ import annotations

import gzip
import json
import threading
from pathlib import Path

import pytest

import mpigrad
import mpigrad.profiler
from mpigrad._graph.grad_mode import TRACING
from mpigrad.autograd.profiler import profile, record_function


def train() -> None:
    x = mpigrad.ones(3, requires_grad=True)
    with record_function("step"):
        (x * 2 + x).sum().backward()


def test_operators_nodes_and_blocks() -> None:
    with profile() as prof:
        train()
    names = [event.name for event in prof.function_events]
    for name in (
        "step",
        "aten::mul",
        "aten::add",
        "aten::sum",
        "SumBackward0",
        "AddBackward0",
        "MulBackward0",
        "torch::autograd::AccumulateGrad",
    ):
        assert name in names
    step = prof.function_events[names.index("step")]
    mul = prof.function_events[names.index("aten::mul")]
    assert mul.cpu_parent is step and mul in step.cpu_children
    assert step.cpu_time_total >= sum(child.cpu_time_total for child in step.cpu_children)
    assert step.self_cpu_time_total >= 0


def test_nothing_is_noted_outside() -> None:
    with profile() as prof:
        pass
    train()
    assert len(prof.function_events) == 0 and not TRACING.on
    with profile(enabled=False) as off:
        train()
    assert off.function_events is None


def test_averages_and_table() -> None:
    with profile() as prof:
        train()
        train()
    averages = {event.key: event for event in prof.key_averages()}
    assert averages["step"].count == 2 and averages["aten::mul"].count == 2
    assert averages["step"].cpu_time == pytest.approx(averages["step"].cpu_time_total / 2)
    table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2)
    lines = table.splitlines()
    assert lines[1].split() == "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls".split()
    assert lines[3].split()[0] == "step" and len(lines) == 7
    assert lines[-1].startswith("Self CPU time total: ")
    total = prof.total_average()
    assert total.count == len(prof.function_events) and total.self_cpu_time_total == pytest.approx(
        prof.self_cpu_time_total
    )
    with pytest.raises(AttributeError, match="cannot sort events by 'colour'"):
        prof.table(sort_by="colour")


def test_input_shapes() -> None:
    with profile(record_shapes=True) as prof:
        for length in (2, 3, 3):
            mpigrad.ones(length) * mpigrad.ones(4, length)
    found = {
        str(each.input_shapes): each.count
        for each in prof.key_averages(group_by_input_shape=True)
        if each.key == "aten::mul"
    }
    assert found == {"[[2], [4, 2]]": 1, "[[3], [4, 3]]": 2}
    table = prof.key_averages(group_by_input_shape=True).table()
    assert "Input Shapes" in table and "[[3], [4, 3]]" in table


def test_unfinished() -> None:
    with profile() as prof:
        with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
            prof.key_averages()
        with pytest.raises(RuntimeError, match="not reentrant"):
            prof.__enter__()


def test_chrome_trace(tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        train()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["name"] for event in events} >= {"step", "aten::mul"}
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    prof.export_stacks(str(tmp_path / "stacks"))
    assert "train" in (tmp_path / "stacks").read_text()


def test_threads_are_kept_apart() -> None:
    def work() -> None:
        with record_function("in a thread"):
            mpigrad.ones(2) * 2

    with profile() as prof, record_function("main"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
    events = {event.name: event for event in prof.function_events}
    assert events["in a thread"].thread != events["main"].thread
    assert events["in a thread"].cpu_parent is None
    assert events["aten::mul"].cpu_parent is events["in a thread"]


def test_record_function_decorates() -> None:
    @record_function("labelled")
    def function(x: int) -> int:
        return x + 1

    with profile() as prof:
        assert function(1) == 2
    assert [event.name for event in prof.function_events] == ["labelled"]


def test_a_block_that_ends_with_a_future() -> None:
    fut: mpigrad.futures.Future = mpigrad.futures.Future()
    with profile() as prof:
        with record_function("async") as record:
            chained = record._call_end_callbacks_on_future(fut)
        fut.set_result(5)
        assert chained.wait() == 5
    assert [event.name for event in prof.function_events] == ["async"]


def test_schedule_and_steps(tmp_path: Path) -> None:
    ready = []
    plan = mpigrad.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with mpigrad.profiler.profile(schedule=plan, on_trace_ready=lambda prof: ready.append(prof.key_averages())) as prof:
        for _ in range(10):
            train()
            prof.step()
    assert len(ready) == 2
    assert all({event.key: event.count for event in each}["step"] == 2 for each in ready)
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]


def test_trace_handler(tmp_path: Path) -> None:
    handler = mpigrad.profiler.tensorboard_trace_handler(str(tmp_path), "worker")
    with mpigrad.profiler.profile(activities=[mpigrad.profiler.ProfilerActivity.CPU], on_trace_ready=handler):
        train()
    (written,) = tmp_path.iterdir()
    assert written.name.startswith("worker.") and written.name.endswith(".pt.trace.json")
