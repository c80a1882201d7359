"""Streams of calls: results are correct on any stream of the caller, without explicit synchronisation.

The emulated GPU runs work as late as possible, so a missing wait gives wrong numbers every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad._array.device import cupy, host
from mpigrad.futures import Future
from mpigrad.testing import World

pytestmark = pytest.mark.mpi(min_size=2)
STATE: dict[str, mpigrad.Tensor] = {}


def values(x: mpigrad.Tensor) -> list[float]:
    return host(x._array).reshape(-1).tolist()


def chain(x: mpigrad.Tensor, steps: int) -> mpigrad.Tensor:
    for _ in range(steps):
        x = x + 1
    return x


def stream_of_handler(index: int) -> int:
    return mpigrad.cuda.current_stream(index).cuda_stream


def stream_after_others(to: str) -> tuple[int, int]:
    """The current stream, and the same after calls and streams of CuPy have come and gone."""
    before = stream_of_handler(0)
    rpc.rpc_sync(to, chain, (mpigrad.ones(3, device="cuda:0"), 1))
    with cupy().cuda.Stream(non_blocking=True):
        rpc.rpc_sync(to, chain, (mpigrad.ones(3, device="cuda:0"), 1))
    return before, stream_of_handler(0)


def relay(to: str, x: mpigrad.Tensor) -> mpigrad.Tensor:
    return chain(rpc.rpc_sync(to, chain, (chain(x, 2), 3)), 4)


@rpc.functions.async_execution
def later(to: str, x: mpigrad.Tensor) -> Future:
    return rpc.rpc_async(to, chain, (chain(x, 2), 3)).then(lambda fut: chain(fut.wait(), 4))


def store(key: str, x: mpigrad.Tensor) -> None:
    STATE[key] = chain(x, 5)


def load(key: str) -> mpigrad.Tensor:
    return STATE[key] * 2


@pytest.mark.parametrize("length", [4, 40_000, 1_200_000])
def test_results_are_used_right_away(swapped: World, length: int) -> None:
    x = chain(mpigrad.zeros(length, device="cuda:0"), 3)
    for _ in range(3):
        x = chain(rpc.rpc_sync(swapped.next_name, chain, (chain(x, 2), 5)), 1)
    assert values(x)[:: length - 1] == [27, 27]


def test_each_handler_has_a_stream_of_its_own(swapped: World) -> None:
    seen = {rpc.rpc_sync(swapped.next_name, stream_of_handler, (index,)) for index in (0, 1) for _ in range(4)}
    assert 0 not in seen and len(seen) == 8


def test_the_stream_stays_the_same_whatever_happens_meanwhile(swapped: World) -> None:
    for _ in range(4):
        before, after = rpc.rpc_sync(swapped.next_name, stream_after_others, (swapped.name,))
        assert before == after != 0
    stream = mpigrad.cuda.Stream(0)
    with mpigrad.cuda.stream(stream):
        assert stream_after_others(swapped.next_name) == (stream.cuda_stream, stream.cuda_stream)
    assert stream_of_handler(0) == 0


def test_without_devices_handlers_use_the_default_stream(start: Any) -> None:
    world = start()
    assert rpc.rpc_sync(world.next_name, stream_of_handler, (0,)) == 0


def test_nested_calls(swapped: World) -> None:
    x = chain(mpigrad.zeros(30_000, device="cuda:0"), 1)
    got = rpc.rpc_sync(swapped.next_name, relay, (swapped.name, x))
    assert values(chain(got, 1))[::29_999] == [11, 11]


def test_asynchronous_functions_and_callbacks(swapped: World) -> None:
    x = chain(mpigrad.zeros(30_000, device="cuda:0"), 1)
    futures = [rpc.rpc_async(swapped.next_name, later, (swapped.name, x)) for _ in range(4)]
    more = [fut.then(lambda f: chain(f.wait(), 5)) for fut in futures]
    for fut in more:
        assert values(fut.wait())[::29_999] == [15, 15]


def test_a_caller_with_a_stream_of_its_own(swapped: World) -> None:
    with mpigrad.cuda.stream(mpigrad.cuda.Stream(0)):
        x = chain(mpigrad.zeros(1000, device="cuda:0"), 2)
        got = rpc.rpc_sync(swapped.next_name, chain, (x, 3))
        assert values(chain(got, 1))[::999] == [6, 6]


@pytest.mark.parametrize("other", [False, True])
def test_an_answer_taken_on_another_stream_than_the_call_was_made_on(swapped: World, other: bool) -> None:
    if swapped.rank == 0:  # only one calls: serving others would ask the GPU for its progress, and so cause it
        with mpigrad.cuda.stream(mpigrad.cuda.Stream(0)):
            x = chain(mpigrad.zeros(1000, device="cuda:0"), 2)
            fut = rpc.rpc_async(swapped.next_name, chain, (x, 3))
        taker = mpigrad.cuda.Stream(0) if other else mpigrad.cuda.default_stream(0)
        with mpigrad.cuda.stream(taker):
            assert values(chain(fut.wait(), 1))[::999] == [6, 6]
    swapped.barrier()


def test_what_handlers_leave_is_complete_for_others(swapped: World) -> None:
    x = chain(mpigrad.zeros(1000, device="cuda:0"), 2)
    key = swapped.name
    rpc.rpc_sync(swapped.next_name, store, (key, x))
    got = rpc.rpc_sync(swapped.next_name, load, (key,))
    assert values(got)[::999] == [14, 14]
    swapped.barrier()
    mine = STATE.pop(swapped.worker(swapped.rank - 1))  # made by a handler, used by this thread
    assert values(mine + 1)[::999] == [8, 8]


def leave_and_ask(through: str, key: str, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """Leave something behind and, before this handler ends, have another one of this worker asked for it."""
    STATE[key] = chain(x, 5)
    return rpc.rpc_sync(through, ask_back, (rpc.get_worker_info().name, key))


def ask_back(where: str, key: str) -> mpigrad.Tensor:
    return rpc.rpc_sync(where, load, (key,))


def test_what_a_handler_has_left_is_complete_for_whoever_hears_of_it(swapped: World) -> None:
    if swapped.rank == 0:
        x = chain(mpigrad.full((1000,), 300.0, device="cuda:0"), 2)  # numbers that old memory does not hold
        got = rpc.rpc_sync(swapped.next_name, leave_and_ask, (swapped.name, "left", x))
        assert values(got)[::999] == [614, 614]
    swapped.barrier()
    STATE.clear()


def test_rrefs(swapped: World) -> None:
    x = chain(mpigrad.zeros(1000, device="cuda:0"), 2)
    rref = rpc.remote(swapped.next_name, chain, (x, 5))
    again = rpc.remote(swapped.next_name, chain, (x, 1))
    assert values(rref.to_here() + 1)[::999] == [8, 8]
    assert values(rpc.rpc_sync(swapped.next_name, total, (rref, again)))[::999] == [10, 10]
    mine = rpc.RRef(chain(x, 4))
    assert values(rpc.rpc_sync(swapped.next_name, fetch, (mine,)))[::999] == [7, 7]


def total(one: rpc.RRef, other: rpc.RRef) -> mpigrad.Tensor:
    return one.local_value() + other.local_value()


def fetch(rref: rpc.RRef) -> mpigrad.Tensor:
    got = rref.to_here()
    assert got.device == mpigrad.device("cuda:1")
    return got + 1


def test_memory_is_not_used_again_before_it_was_read(swapped: World) -> None:
    """Answers and their memory come and go quickly; each must hold its own numbers."""
    xs = [mpigrad.full((20_000,), float(i), device="cuda:0") for i in range(4)]
    kept = []
    for turn in range(12):
        got = rpc.rpc_sync(swapped.next_name, chain, (xs[turn % 4], 1))
        kept.append((turn, (got * 2).sum()))
        del got
    for turn, found in kept:
        assert float(found) == 20_000 * 2 * (turn % 4 + 1)


def test_arrays_without_tensors(swapped: World) -> None:
    with cupy().cuda.Device(0):
        x = cupy().zeros(10) + 1
    got = rpc.rpc_sync(swapped.next_name, add_three, ({"x": x},))
    with cupy().cuda.Device(0):
        np.testing.assert_array_equal(host(got + 1), np.full(10, 5.0))


def add_three(given: dict[str, Any]) -> Any:
    with given["x"].device:
        return given["x"] + 3
