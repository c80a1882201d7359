"""Names that tools and tests of PyTorch import: debug information, profiling of a server, the pickler in use."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.autograd.profiler import profile
from mpigrad.distributed.rpc.internal import RPCExecMode, _build_rpc_profiling_key, _internal_rpc_pickler

pytestmark = pytest.mark.mpi(min_size=1)


def names_of(rref: rpc.RRef) -> list[str]:
    return sorted(event.name for thread in rref.local_value().process_global_function_events for event in thread)


def test_debug_info_of_all_layers(rpc_world) -> None:
    found = rpc._get_debug_info()
    assert {"num_owner_rrefs", "agent.thread_pool_size", "num_autograd_contexts", "num_current_backward_passes"} <= set(found)


def test_profile_of_what_is_done_for_others(rpc_world) -> None:
    to, x = rpc_world.next_name, mpigrad.tensor([1.0])
    if rpc_world.rank == 0:
        outer = rpc.remote(to, rpc._server_process_global_profile)
        outer.rpc_sync().__enter__()
        rpc.rpc_sync(to, mpigrad.add, args=(x, x))
        inner = rpc.remote(to, rpc._server_process_global_profile)
        inner.rpc_sync().__enter__()
        mpigrad.mul(x, x)  # not for others
        rpc.rpc_sync(to, mpigrad.sub, args=(x, x))
        inner.rpc_sync().__exit__(None, None, None)
        outer.rpc_sync().__exit__(None, None, None)
        assert rpc.rpc_sync(to, names_of, args=(inner,)) == ["aten::sub"]
        assert rpc.rpc_sync(to, names_of, args=(outer,)) == ["aten::add", "aten::sub"]
    rpc_world.barrier()


def test_small_names(rpc_world) -> None:
    assert [each.value for each in RPCExecMode] == ["sync", "async", "async_jit", "remote"]
    assert _build_rpc_profiling_key(RPCExecMode.SYNC, "f", "a", "b") == "rpc_sync#f(a -> b)"
    other = type(_internal_rpc_pickler)()
    assert rpc.api._default_pickler is _internal_rpc_pickler
    with rpc.api._use_rpc_pickler(other):
        assert rpc.api._default_pickler is other
    assert rpc.api._default_pickler is _internal_rpc_pickler


def test_waits_for_the_interpreter(rpc_world) -> None:
    def average() -> str | None:
        return rpc.api._get_current_rpc_agent().get_debug_info().get("agent.gil_average_wait_time_us")

    assert average() is None
    rpc.enable_gil_profiling(True)
    rpc_world.barrier()
    rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(mpigrad.ones(1), 1))
    rpc_world.barrier()
    assert float(average() or 0) > 0
    rpc.enable_gil_profiling(False)
    assert average() is None


def test_a_profiled_value_and_its_type(rpc_world) -> None:
    if rpc_world.world_size == 1:
        return
    to = rpc_world.next_name
    with profile() as prof:
        rref = rpc.remote(to, mpigrad.add, args=(mpigrad.ones(2), 1))
        assert rref._get_type() is mpigrad.Tensor
        assert rref._get_profiling_future().wait() is None
        names = [event.name for event in prof._found]
    assert f"rpc_remote#aten::add({rpc_world.name} -> {to})" in names
    assert any(event.name.startswith("rpc_async#_rref_typeof_on_owner(") for event in prof.function_events)
    rpc_world.barrier()  # while a worker runs a function for a caller that profiles, its own calls are profiled, too
    other = rpc.remote(to, mpigrad.add, args=(mpigrad.ones(2), 1))
    with pytest.raises(RuntimeError, match="Profiling future has not been set!"):
        other._get_profiling_future()
    other._set_profiling_future(other._get_future())
    other._get_profiling_future().wait()


def test_values_made_on_the_caller_are_profiled(rpc_world) -> None:
    with profile() as prof:
        rref = rpc.remote(rpc_world.name, mpigrad.add, args=(mpigrad.ones(2), 1))
        rref._get_profiling_future().wait()
    name = f"rpc_remote#aten::add({rpc_world.name} -> {rpc_world.name})"
    assert name in [event.name for event in prof.function_events]
    assert any(event.name.startswith(f"{name}#remote_op: ") for event in prof.function_events)
