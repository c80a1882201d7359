"""The profiler: operators, nodes and labelled blocks, their nesting, averages, tables and traces."""

from __future__ import annotations

import gzip
import json
import threading
import tracemalloc
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


def test_names_of_operators_are_pytorchs() -> None:
    F, image = mpigrad.nn.functional, mpigrad.ones(1, 1, 4, 4)
    with profile() as prof:
        F.conv2d(F.pad(F.pad(image, (1, 1, 1, 1)), (1, 1, 1, 1), mode="reflect"), mpigrad.ones(1, 1, 3, 3))
        F.linear(mpigrad.ones(2, 3), mpigrad.ones(2, 3))
        mpigrad.special.entr(mpigrad.ones(2))
        mpigrad.linalg.eigh(mpigrad.eye(2))
    names = [event.name for event in prof.function_events]
    wanted = "constant_pad_nd reflection_pad2d convolution t special_entr linalg_eigh".split()
    assert [name for name in names if name.removeprefix("aten::") in wanted] == ["aten::" + name for name in wanted]


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
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        prof.table(sort_by="colour")
    in_us = prof.key_averages().table(time_unit="us", header="mine", top_level_events_only=True)
    assert in_us.splitlines()[1] == "mine" and "ms" not in in_us
    assert in_us.splitlines()[3] == "This report only display top-level ops statistics"
    assert "aten::mul" not in in_us  # inside of the step


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


@pytest.mark.host
def test_memory() -> None:
    with profile(profile_memory=True) as prof:
        with record_function("block"):
            kept = mpigrad.ones(1000, 1000) * 2
        del kept
    averages = {event.key: event for event in prof.key_averages()}
    for name in ("block", "aten::mul"):
        assert 4_000_000 <= averages[name].cpu_memory_usage < 8_100_000
    assert averages["block"].self_cpu_memory_usage < averages["block"].cpu_memory_usage
    table = prof.key_averages().table(sort_by="self_cpu_memory_usage")
    assert "CPU Mem  Self CPU Mem" in table and "3.8" in table and " MB " in table
    assert not tracemalloc.is_tracing()


def test_flops() -> None:
    with profile(with_flops=True) as prof:
        mpigrad.ones(20, 30) @ mpigrad.ones(30, 40)
        mpigrad.nn.functional.linear(mpigrad.ones(5, 7, 3), mpigrad.ones(4, 3))
        mpigrad.ones(6).exp()
    found = {event.key: event.flops for event in prof.key_averages()}
    assert found["aten::mm"] == 2 * 20 * 30 * 40 and found["aten::exp"] == 0
    assert sum(found.values()) - found["aten::mm"] == 2 * 5 * 7 * 3 * 4
    assert all(not event.input_shapes for event in prof.function_events)
    table = prof.key_averages().table()
    assert "Total FLOPs" in table and "48000.000" in table and "--" in table


def test_sources_are_those_of_the_caller() -> None:
    with profile(with_stack=True) as prof:
        train()
    (mul,) = [event for event in prof.function_events if event.name == "aten::mul"]
    assert mul.stack[0].startswith(__file__) and mul.stack[0].endswith(": train")
    assert "Source Location" in prof.key_averages(group_by_stack_n=2).table()
    assert "Source Location" not in prof.key_averages().table()
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks("unused", "colour")


def test_averages_of_different_ranks_are_kept_apart() -> None:
    prof = profile()
    with prof:
        mpigrad.ones(2) * 2
    prof._found += [each._replace(node=3) for each in prof._found]
    events = prof._events()
    averages = [event for event in events.key_averages() if event.key == "aten::mul"]
    assert sorted((event.node_id, event.count) for event in averages) == [(-1, 1), (3, 1)]
    assert "Node ID" in events.key_averages().table() and "Node ID" not in prof.key_averages().table()


def test_what_is_not_there_is_said() -> None:
    with pytest.warns(UserWarning, match="disabling CUDA profiling"):
        profile(use_device="cuda")
    activity = mpigrad.profiler.ProfilerActivity
    with pytest.warns(UserWarning, match="disabling CUDA profiling"):
        mpigrad.profiler.profile(activities=[activity.CPU, activity.CUDA])
    with pytest.raises(AssertionError, match="No activities specified for the profiler"):
        mpigrad.profiler.profile(activities=[])
    with pytest.raises(AssertionError, match="Profiler must be initialized before getting key averages"):
        mpigrad.profiler.profile().key_averages()
    with pytest.warns(UserWarning, match="won't be using warmup"):
        mpigrad.profiler.schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\)"):
        mpigrad.profiler.schedule(wait=-1, warmup=1, active=1)


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
    assert all({event.key: event.count for event in each}["ProfilerStep*"] == 2 for each in ready)
    prof.add_metadata("run", "second")
    prof.add_metadata_json("sizes", "[1, 2]")
    (tmp_path / "trace.json").write_text("another trace")
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    assert (tmp_path / "trace.json").read_text() == "another trace"
    trace = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))
    assert (trace["run"], trace["sizes"]) == ("second", [1, 2])
    assert {"ProfilerStep#6", "ProfilerStep#7"} <= {event["name"] for event in trace["traceEvents"]}


def test_cycles_add_up_when_asked_to() -> None:
    plan = mpigrad.profiler.schedule(wait=1, warmup=1, active=1, repeat=2)
    with mpigrad.profiler.profile(schedule=plan, acc_events=True) as prof:
        for _ in range(8):
            train()
            prof.step()
    assert {event.key: event.count for event in prof.key_averages()}["step"] == 2


def test_trace_handler(tmp_path: Path) -> None:
    handler = mpigrad.profiler.tensorboard_trace_handler(str(tmp_path), "worker")
    with mpigrad.profiler.profile(activities=[mpigrad.profiler.ProfilerActivity.CPU], on_trace_ready=handler):
        train()
    (written,) = tmp_path.iterdir()
    assert written.name.startswith("worker.") and written.name.endswith(".pt.trace.json")
