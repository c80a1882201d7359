"""Calls between ranks: what can be called, with which arguments, what is returned, and which errors are raised."""

from __future__ import annotations

import operator
import threading
import time

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc.internal import _internal_rpc_pickler

from .. import support_functions as far

pytestmark = pytest.mark.mpi(min_size=2)


def test_to_name_rank_and_worker_info(rpc_world) -> None:
    name, rank = rpc_world.next_name, rpc_world.next_rank
    for to in (name, rank, rpc.get_worker_info(name)):
        assert rpc.rpc_sync(to, far.whoami) == name
    assert rpc.rpc_sync(rpc_world.name, far.whoami) == rpc_world.name
    assert rpc.get_worker_info().id == rpc_world.rank


def test_kinds_of_callables(rpc_world) -> None:
    to, offset = rpc_world.next_name, 5
    assert rpc.rpc_sync(to, far.add, args=(1,), kwargs={"y": 2}) == 3
    assert rpc.rpc_sync(to, far.add, kwargs={"x": 1, "y": 2}) == 3
    assert rpc.rpc_async(to, lambda x: x + offset, kwargs={"x": 1}).wait() == 6
    assert rpc.remote(to, far.add, kwargs={"x": 1, "y": 3}).to_here() == 4
    assert rpc.rpc_sync(to, operator.add, args=([1], [2])) == [1, 2]
    assert rpc.rpc_sync(to, far.Counter.double, args=(4,)) == 8
    assert rpc.rpc_sync(to, far.Counter.name) == "Counter"
    assert rpc.rpc_sync(to, far.Counter, args=(4,)).value == 4
    assert rpc.rpc_sync(to, far.Counter(10).add, args=(5,)) == 15
    assert rpc.rpc_sync(to, far.Counter.add, args=(far.Counter(1), 2)) == 3
    assert rpc.rpc_sync(to, lambda x: x + offset, args=(1,)) == 6
    assert rpc.rpc_sync(to, max, args=(3, 8)) == 8


def test_tensors_there_and_back(rpc_world) -> None:
    to = rpc_world.next_name
    a = mpigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    back = rpc.rpc_sync(to, far.echo, args=(a,))
    assert back.requires_grad and back.is_leaf and back.tolist() == a.tolist()
    assert rpc.rpc_sync(to, mpigrad.add, args=(a, a)).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    both = rpc.rpc_sync(to, far.echo, args=((a, 3),))
    assert both[0].tolist() == a.tolist() and both[1] == 3
    nested = rpc.rpc_sync(to, far.echo, args=({"k": [a, (a, None)]},))
    assert nested["k"][0].tolist() == a.tolist() and nested["k"][1][1] is None


@pytest.mark.parametrize("size", [0, 1, 5_000, 40_000, 70_000, 1_000_000, 9_000_000])
def test_arrays_of_all_sizes(rpc_world, size) -> None:
    array = np.random.default_rng(size).integers(0, 255, size, dtype=np.uint8)
    for to in (rpc_world.next_name, rpc_world.name):
        np.testing.assert_array_equal(rpc.rpc_sync(to, far.echo, args=(array,)), array)
        text, again = rpc.rpc_sync(to, far.echo, args=(["x" * (size // 10), array],))
        assert len(text) == size // 10
        np.testing.assert_array_equal(again, array)


def test_many_large_arrays_both_ways_at_once(rpc_world) -> None:
    arrays = [np.full(100_000 + i, rpc_world.rank * 100.0 + i) for i in range(20)]
    futures = [rpc.rpc_async(rpc_world.next_name, far.echo, args=(a,)) for a in arrays]
    for fut, array in zip(futures, arrays):
        np.testing.assert_array_equal(fut.wait(), array)


def test_exceptions_keep_type_arguments_and_say_where(rpc_world) -> None:
    to = rpc_world.next_name
    with pytest.raises(KeyError) as caught:
        rpc.rpc_sync(to, far.fail, args=(KeyError, "k", 2))
    assert caught.value.args == ("k", 2)
    assert f"On {rpc.get_worker_info(to)}" in str(caught.value.__cause__)
    assert "in fail" in str(caught.value.__cause__)
    with pytest.raises(far.CustomError) as custom:
        rpc.rpc_async(to, far.fail_custom).wait()
    assert (custom.value.code, custom.value.hint, custom.value.args) == (7, "left", ("code 7: left",))


@pytest.mark.parametrize(
    "error",
    [
        OSError(2, "No such file", "name"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "why"),
        StopIteration(3),
        ValueError(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_builtin_exceptions_with_state(rpc_world, error) -> None:
    arguments = error.__reduce__()[1]
    with pytest.raises(type(error)) as caught:
        rpc.rpc_sync(rpc_world.next_name, far.fail, args=(type(error), *arguments))
    assert caught.value.args == error.args and str(caught.value).startswith(str(error))


def test_exception_type_that_the_caller_cannot_know(rpc_world) -> None:
    def raise_local() -> None:
        class Local(SystemExit):
            pass

        raise Local("gone")

    with pytest.raises(RuntimeError, match="Local: gone"):
        rpc.rpc_sync(rpc_world.next_name, raise_local)


def test_errors_of_arguments_and_results(rpc_world) -> None:
    to = rpc_world.next_name
    with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object"):
        rpc.rpc_sync(to, far.echo, args=(threading.Lock(),))
    with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object") as caught:
        rpc.rpc_sync(to, far.unpicklable)
    assert f"On {rpc.get_worker_info(to)}" in str(caught.value.__cause__)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        rpc.rpc_sync(to, far.echo, args=(1, 2))
    with pytest.raises(TypeError, match="function should be callable"):
        rpc.rpc_sync(to, 5)
    assert rpc.rpc_sync(to, far.add, args=(1, 1)) == 2


def test_function_that_only_the_caller_has(rpc_world) -> None:
    def here() -> None: ...

    here.__module__, here.__qualname__ = "tests.distributed.rpc.support_functions", "only_here"
    far.only_here = here
    rpc_world.barrier()
    try:
        if rpc_world.rank == 0:
            rpc.rpc_sync(1, forget)
            with pytest.raises(AttributeError, match="must be defined on both caller and callee"):
                rpc.rpc_sync(1, here)
        rpc_world.barrier()
    finally:
        vars(far).pop("only_here", None)


def forget() -> None:
    del far.only_here


def test_unknown_workers_list_the_known_ones(rpc_world) -> None:
    with pytest.raises(RuntimeError, match=r"could not find destination name nobody; known workers: WorkerInfo\(id=0"):
        rpc.rpc_sync("nobody", far.nothing)
    with pytest.raises(RuntimeError, match="could not find destination name wroker0; did you mean 'worker0'"):
        rpc.get_worker_info("wroker0")
    with pytest.raises(RuntimeError, match="could not find destination id 99"):
        rpc.rpc_sync(99, far.nothing)
    with pytest.raises(ValueError, match="Cannot get WorkerInfo from name 1.5"):
        rpc.rpc_sync(1.5, far.nothing)


def test_timeouts_per_call_default_and_none(rpc_world) -> None:
    to = rpc_world.next_name
    name = f"release {rpc_world.rank}"
    with pytest.raises(RuntimeError, match=r"RPC ran for more than set timeout \(100 ms\).*poll_flag on WorkerInfo"):
        rpc.rpc_sync(to, far.poll_flag, args=(name,), timeout=0.1)
    rpc._set_rpc_timeout(0.05)
    with pytest.raises(RuntimeError, match=r"\(50 ms\)"):
        rpc.rpc_async(to, far.poll_flag, args=(name,)).wait()
    assert rpc.get_rpc_timeout() == 0.05
    fut = rpc.rpc_async(to, far.poll_flag, args=(name,), timeout=0)
    time.sleep(0.2)
    assert not fut.done()
    rpc._set_rpc_timeout(60)
    rpc.rpc_sync(to, far.set_flag, args=(name,))
    assert fut.wait() == name


def test_async_execution(rpc_world) -> None:
    to = rpc_world.next_name
    assert rpc.rpc_sync(to, far.add_later, args=(rpc_world.name, 1, 2)) == 30
    with pytest.raises(RuntimeError, match="must return a mpigrad.futures.Future object, but got builtins.int"):
        rpc.rpc_sync(to, far.not_a_future)
    with pytest.raises(ValueError, match="late"):
        rpc.rpc_sync(to, far.later_error, args=(rpc_world.name,))


def test_nested_calls_between_ranks(rpc_world) -> None:
    ring = tuple((rpc_world.rank + 1 + i) % rpc_world.world_size for i in range(rpc_world.world_size))
    assert rpc.rpc_sync(ring[0], far.nested, args=(30, ring[1:] + ring[:1])) == 30


@pytest.mark.rpc(num_worker_threads=2)
def test_nesting_200_deep_with_two_threads(rpc_world) -> None:
    if rpc_world.rank == 0:
        assert rpc.rpc_sync(1, far.nested, args=(200, (0, 1))) == 200


def test_wait_all_gather_and_barrier(rpc_world) -> None:
    with rpc.api._wait_all():
        futures = [rpc.rpc_async(rpc_world.next_name, far.add, args=(i, 1)) for i in range(10)]
    assert all(fut.done() for fut in futures)
    names = {rpc_world.worker(i) for i in range(rpc_world.world_size)}
    for turn in range(3):
        got = rpc.api._all_gather((turn, rpc_world.rank))
        assert got == {rpc_world.worker(i): (turn, i) for i in range(rpc_world.world_size)}
    rpc.api._barrier(names)
    if rpc_world.rank < 2:
        assert rpc.api._all_gather(rpc_world.rank, {"worker0", "worker1"}) == {"worker0": 0, "worker1": 1}
    with pytest.raises(ValueError, match="is not one of the workers"):
        rpc.api._all_gather(1, {"nobody"})


class CountingPickler:
    """The default pickler with counters."""

    def __init__(self) -> None:
        self.calls = 0

    def serialize(self, obj):
        self.calls += 1
        return _internal_rpc_pickler.serialize(obj)

    def deserialize(self, data, tensors):
        return _internal_rpc_pickler.deserialize(data, tensors)


def test_custom_pickler(rpc_world) -> None:
    pickler = CountingPickler()
    with rpc.api._use_rpc_pickler(pickler):
        rpc_world.barrier()
        got = rpc.rpc_sync(rpc_world.next_name, far.echo, args=([mpigrad.ones(2), "x"],))
        assert got[0].tolist() == [1.0, 1.0] and got[1] == "x"
        rpc_world.barrier()
    assert pickler.calls >= 1
    assert rpc.rpc_sync(rpc_world.next_name, far.add, args=(1, 2)) == 3


def test_debug_info(rpc_world) -> None:
    for _ in range(40):
        rpc.rpc_sync(rpc_world.next_name, far.nothing)
    info = rpc.api._get_current_rpc_agent().debug_info()
    assert info["agent.client_active_calls"] == 0 and info["agent.thread_pool_size"] == 16
    assert info["agent.requests_issued"] >= 40 and info["agent.bytes_sent"] > 40 * 64
    assert sum(info["agent.latency_us"].values()) >= 2
    assert rpc.api._get_current_rpc_agent().get_debug_info()["agent.client_active_calls"] == "0"


def test_futures_can_be_awaited(rpc_world) -> None:
    import asyncio

    async def main() -> list[int]:
        return list(await asyncio.gather(*(one(i) for i in range(10))))

    async def one(i: int) -> int:
        return await rpc.rpc_async(rpc_world.next_name, far.add, args=(i, 1))

    assert asyncio.run(main()) == list(range(1, 11))
