"""Collectives and messages on tensors of GPUs, staged and with an MPI that reads the (emulated) device memory."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad._array.device import host
from mpigrad.testing import World
from tests.cuda.test_rpc_cuda_aware import emulator

pytestmark = pytest.mark.mpi(min_size=2)
LARGE = 1_500_000  # float32: two pieces


@pytest.fixture(params=["staged", "cuda_aware"])
def group(request: pytest.FixtureRequest, world: World) -> Iterator[World]:
    runtime = emulator()
    if runtime is not None and request.param == "cuda_aware":
        runtime.cpucuda_host_may_look(1)
    dist.init_process_group(pg_options=SimpleNamespace(device_transfers=request.param))
    yield world
    dist.destroy_process_group()
    if runtime is not None:
        runtime.cpucuda_host_may_look(0)


def made(value: float, size: int = 6, place: str = "cuda:1") -> mpigrad.Tensor:
    """A tensor whose value is the result of work that the GPU has not done yet."""
    return mpigrad.full((size,), float(value - 1), device=place) + 1


def seen(tensor: mpigrad.Tensor) -> set[float]:
    assert tensor.device.type == "cuda"
    return set(host((tensor * 1)._array).reshape(-1).tolist())


@pytest.mark.parametrize("size", [1, LARGE])
def test_all_reduce(group: World, size: int) -> None:
    n = group.world_size
    for op, expected in ((dist.ReduceOp.SUM, n * (n + 1) / 2), (dist.ReduceOp.AVG, (n + 1) / 2), (dist.ReduceOp.MAX, n)):
        x = made(group.rank + 1, size)
        dist.all_reduce(x, op)
        assert seen(x) == {expected}


@pytest.mark.parametrize("kind", ["float16", "float64", "int32", "bool"])
def test_all_reduce_of_other_types(group: World, kind: str) -> None:
    x = (made(group.rank, 4) + 1).to(getattr(mpigrad, kind))
    dist.all_reduce(x, dist.ReduceOp.MAX)
    assert x.dtype == getattr(mpigrad, kind) and seen(x) == {1 if kind == "bool" else group.world_size}


def test_asynchronous(group: World) -> None:
    x = made(group.rank)
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    work.wait()
    assert seen(x) == {sum(range(group.world_size))}


def test_a_result_taken_on_another_stream(group: World) -> None:
    with mpigrad.cuda.stream(mpigrad.cuda.Stream(1)):
        x = made(group.rank)
        work = dist.all_reduce(x, async_op=True)
        assert work is not None
    work.get_future().wait()  # ended by another thread
    with mpigrad.cuda.stream(mpigrad.cuda.Stream(1)):
        work.wait()
        assert seen(x) == {sum(range(group.world_size))}


@pytest.mark.parametrize("size", [3, LARGE])
def test_broadcast_and_reduce(group: World, size: int) -> None:
    x = made(group.rank + 5, size, "cuda:0")
    dist.broadcast(x, 1)
    assert seen(x) == {6}
    y = made(group.rank, size)
    dist.reduce(y, 0)
    assert seen(y) == {sum(range(group.world_size)) if group.rank == 0 else group.rank}


def test_gathers(group: World) -> None:
    n, x = group.world_size, made(group.rank)
    rows = [made(-1) for _ in range(n)]
    dist.all_gather(rows, x)
    assert [seen(row) for row in rows] == [{rank} for rank in range(n)]
    flat = made(-1, 6 * n)
    dist.all_gather_into_tensor(flat, x)
    np.testing.assert_array_equal(host(flat._array), np.repeat(np.arange(n), 6))
    taken = [made(-1) for _ in range(n)] if group.rank == 1 else None
    dist.gather(x, taken, dst=1)
    assert taken is None or [seen(row) for row in taken] == [{rank} for rank in range(n)]


def test_scatters(group: World) -> None:
    n, x = group.world_size, made(-1)
    dist.scatter(x, [made(10 + rank) for rank in range(n)] if group.rank == 0 else None, src=0)
    assert seen(x) == {10 + group.rank}
    dist.reduce_scatter(x, [made(rank) for rank in range(n)])
    assert seen(x) == {n * group.rank}
    whole = mpigrad.cat([made(rank) for rank in range(n)])
    dist.reduce_scatter_tensor(x, whole)
    assert seen(x) == {n * group.rank}


def test_all_to_all(group: World) -> None:
    n, rank = group.world_size, group.rank
    given, back = [made(rank * 10 + i, i + 1) for i in range(n)], [made(-1, rank + 1) for _ in range(n)]
    dist.all_to_all(back, given)
    assert [seen(each) for each in back] == [{i * 10 + rank} for i in range(n)]
    x, y = made(rank, n), made(-1, n)
    dist.all_to_all_single(y, x)
    np.testing.assert_array_equal(host(y._array), np.arange(n))


@pytest.mark.parametrize("size", [4, LARGE])
def test_messages(group: World, size: int) -> None:
    n, x, y = group.world_size, made(group.rank, size), made(-1, size, "cuda:0")
    work = dist.isend(x, group.next_rank)
    assert work is not None
    assert dist.recv(y, (group.rank - 1) % n) == (group.rank - 1) % n
    work.wait()
    assert seen(y) == {(group.rank - 1) % n}


def test_parts_of_a_tensor(group: World) -> None:
    whole = mpigrad.zeros(4, 6, device="cuda:1")
    dist.all_reduce(whole[:, 2].add_(group.rank + 1))
    expected = np.zeros((4, 6))
    expected[:, 2] = sum(range(1, group.world_size + 1))
    np.testing.assert_array_equal(host(whole._array), expected)


def test_ranks_that_share_a_gpu_are_told(group: World, unclaimed: World, caplog: pytest.LogCaptureFixture) -> None:
    """All ranks start to use cuda:1, and then cuda:0; all but the first warn, once."""
    told = []
    for place in ("cuda:1", "cuda:0"):
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                dist.all_reduce(made(1, place=place))
        told.append(sum(f"uses the GPU of {place}, too" in text for text in caplog.messages))
    assert [sum(counts) for counts in zip(*group.gather(told))] == [group.world_size - 1] * 2
