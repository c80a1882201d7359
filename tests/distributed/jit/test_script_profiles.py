"""Scripts in the profiler: labelled blocks, calls under PyTorch's names, and what they ran on the other worker."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.autograd.profiler import profile, record_function

from . import call_scripts as scripts

pytestmark = pytest.mark.mpi(min_size=1)


def name_of(function) -> str:
    return mpigrad._jit_internal._qualified_name(function)


def test_a_call_from_a_script_has_its_own_kind(rpc_world) -> None:
    args = mpigrad.tensor([1, 1]), mpigrad.tensor([2, 2])
    for call in (scripts.call_async, scripts.call_sync):
        with profile() as prof:
            call(rpc_world.next_name, args, {})
        key = f"rpc_async_jit#{name_of(scripts.two_and_two)}({rpc_world.name} -> {rpc_world.next_name})"
        (event,) = [each for each in prof.function_events if each.name == key]
        assert event.node_id == rpc_world.rank
        there = [each for each in prof.function_events if each.is_remote]
        assert {each.node_id for each in there} == {rpc_world.next_rank}
        assert f"{key}#remote_op: aten::add" in [each.name for each in there]
    with profile() as prof:
        rpc.rpc_sync(rpc_world.next_name, scripts.two_and_two, args=args)
    assert any(each.name.startswith("rpc_sync#" + name_of(scripts.two_and_two)) for each in prof.function_events)


def test_arguments_of_profiled_calls_are_checked_too(rpc_world) -> None:
    with profile(), pytest.raises(RuntimeError, match="Unknown keyword argument 'fifth'"):
        scripts.call_async(rpc_world.next_name, (mpigrad.ones(2), mpigrad.ones(2)), {"fifth": mpigrad.ones(2)})


def test_a_block_around_calls_lasts_longer_than_each(rpc_world) -> None:
    with profile() as prof:
        assert scripts.calls_in_a_block(rpc_world.next_name, "block").tolist() == [4.0]
    (block,) = [each for each in prof.function_events if each.name == "block"]
    calls = [each for each in prof.function_events if each.name.startswith("rpc_async_jit#") and not each.is_remote]
    assert len(calls) == 2 and all(block.cpu_time_total > each.cpu_time_total for each in calls)


def test_a_block_on_the_other_worker(rpc_world) -> None:
    with profile() as prof:
        assert scripts.call_add_in_block(rpc_world.next_name, "there").tolist() == [2.0]
    key = f"rpc_async_jit#{name_of(scripts.add_in_block)}({rpc_world.name} -> {rpc_world.next_name})#remote_op: there"
    (block,) = [each for each in prof.function_events if each.name == key]
    assert any("aten::add" in each.name for each in block.cpu_children)


def test_a_block_ends_with_a_future_of_a_script(rpc_world) -> None:
    with profile() as prof, record_function("call") as block:
        assert scripts.call_within(block.record, rpc_world.next_name).tolist() == [2.0]
    (event,) = [each for each in prof.function_events if each.name == "call"]
    (call,) = [each for each in prof.function_events if each.name.startswith("rpc_async_jit#") and not each.is_remote]
    assert event.time_range.end >= call.time_range.end


@pytest.mark.parametrize("enter", ["_record_function_enter", "_record_function_enter_new"])
def test_a_block_without_a_script(rpc_world, enter: str) -> None:
    with profile() as prof:
        record = getattr(mpigrad.ops.profiler, enter)("by hand")
        fut = rpc.rpc_async(rpc_world.next_name, scripts.add, args=(mpigrad.ones(1), mpigrad.ones(1)))
        done = mpigrad.ops.profiler._call_end_callbacks_on_jit_fut(record, fut)
        mpigrad.ops.profiler._record_function_exit(record)
        assert done.wait().tolist() == [2.0]
    assert [each.name for each in prof.function_events].count("by hand") == 1
