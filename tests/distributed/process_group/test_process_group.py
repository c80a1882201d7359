"""Process groups: every collective against NumPy on the gathered inputs; groups, errors, use beside RPC."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed import _mpi
from mpigrad.distributed.rpc._agent.current import current
from tests.support.eventually import eventually

DTYPES = [mpigrad.float32, mpigrad.float64, mpigrad.float16, mpigrad.int64, mpigrad.int32, mpigrad.complex64]


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


def of(rank: int, dtype: mpigrad.dtype = mpigrad.float64) -> mpigrad.Tensor:
    return mpigrad.tensor([[rank + 1, 2 * rank + 1], [rank - 3, 5]]).to(dtype)


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_reduce_sums_every_type(group, dtype) -> None:
    tensor = of(group.rank, dtype)
    dist.all_reduce(tensor)
    wanted = sum(of(rank, dtype).numpy().astype("c16") for rank in range(group.world_size))
    assert tensor.dtype is dtype and np.allclose(tensor.numpy(), wanted)


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_all_reduce_sums_sparse_tensors(group) -> None:
    tensor = mpigrad.sparse_coo_tensor([[group.rank, 3]], [1.0, 2.0], (20,))
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    wanted = np.zeros(20)
    for rank in range(group.world_size):
        np.add.at(wanted, [rank, 3], [1.0, 2.0])
    assert tensor.is_sparse and tensor.is_coalesced()
    assert tensor.to_dense().tolist() == wanted.tolist()
    with pytest.raises(RuntimeError, match="supports ReduceOp.SUM only"):
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize(
    ("op", "how"),
    [("MIN", np.min), ("MAX", np.max), ("PRODUCT", np.prod), ("AVG", np.mean)],
)
def test_all_reduce_with_other_operations(group, op, how) -> None:
    tensor = of(group.rank)
    dist.all_reduce(tensor, op=dist.ReduceOp[op])
    assert np.allclose(tensor.numpy(), how([of(rank).numpy() for rank in range(group.world_size)], axis=0))


@pytest.mark.mpi(min_size=2)
def test_bits_and_booleans(group) -> None:
    tensor = mpigrad.tensor([1 << group.rank, 0])
    dist.all_reduce(tensor, op=dist.ReduceOp.BOR)
    assert tensor.tolist() == [(1 << group.world_size) - 1, 0]
    flags = mpigrad.tensor([group.rank == 0, False])
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    assert flags.tolist() == [True, False]
    with pytest.raises(RuntimeError, match="Cannot use ReduceOp.BAND with non-integral dtype"):
        dist.all_reduce(mpigrad.ones(2), op=dist.ReduceOp.BAND)


@pytest.mark.mpi(min_size=2)
def test_broadcast_reduce_gather_scatter(group) -> None:
    size, rank, last = group.world_size, group.rank, group.world_size - 1
    tensor = of(rank).t()  # not contiguous
    dist.broadcast(tensor, src=last)
    assert tensor.tolist() == of(last).t().tolist()
    tensor = of(rank)
    dist.reduce(tensor, dst=1)
    if rank == 1:
        assert np.allclose(tensor.numpy(), sum(of(r).numpy() for r in range(size)))
    found = [mpigrad.zeros(2, 2, dtype=mpigrad.float64) for _ in range(size)]
    dist.all_gather(found, of(rank))
    assert [each.tolist() for each in found] == [of(r).tolist() for r in range(size)]
    whole = mpigrad.zeros(2 * size, 2, dtype=mpigrad.float64)
    dist.all_gather_into_tensor(whole, of(rank))
    assert whole.tolist() == [row for r in range(size) for row in of(r).tolist()]
    there = [mpigrad.zeros(2, 2, dtype=mpigrad.float64) for _ in range(size)] if rank == 1 else None
    dist.gather(of(rank), there, dst=1)
    if there is not None:
        assert [each.tolist() for each in there] == [of(r).tolist() for r in range(size)]
    mine = mpigrad.zeros(2, 2, dtype=mpigrad.float64)
    dist.scatter(mine, [of(r) for r in range(size)] if rank == 0 else None, src=0)
    assert mine.tolist() == of(rank).tolist()


@pytest.mark.mpi(min_size=2)
def test_reduce_scatter_and_all_to_all(group) -> None:
    size, rank = group.world_size, group.rank
    mine = mpigrad.zeros(2, 2, dtype=mpigrad.float64)
    dist.reduce_scatter(mine, [of(rank) * (place + 1) for place in range(size)])
    assert np.allclose(mine.numpy(), (rank + 1) * sum(of(r).numpy() for r in range(size)))
    part = mpigrad.zeros(2)
    dist.reduce_scatter_tensor(part, mpigrad.arange(2.0 * size))
    assert part.tolist() == [size * 2.0 * rank, size * (2.0 * rank + 1)]
    back = [mpigrad.zeros(r + 1) for r in range(size)]
    dist.all_to_all(back, [mpigrad.full((rank + 1,), float(place)) for place in range(size)])
    assert [each.tolist() for each in back] == [[float(rank)] * (r + 1) for r in range(size)]
    out = mpigrad.zeros(size)
    dist.all_to_all_single(out, mpigrad.arange(float(size)) + 10 * rank)
    assert out.tolist() == [10.0 * r + rank for r in range(size)]


@pytest.mark.mpi(min_size=2)
def test_messages(group) -> None:
    size, rank = group.world_size, group.rank
    right, left = (rank + 1) % size, (rank - 1) % size
    work = dist.isend(of(rank), right, tag=3)
    tensor = mpigrad.zeros(2, 2, dtype=mpigrad.float64)
    assert dist.recv(tensor, left, tag=3) == left
    assert work.wait() and tensor.tolist() == of(left).tolist()
    ops = [dist.P2POp(dist.isend, of(rank), right), dist.P2POp(dist.irecv, tensor, left)]
    for each in dist.batch_isend_irecv(ops):
        each.wait()
    assert tensor.tolist() == of(left).tolist()
    with pytest.raises(ValueError, match="same as the rank"):
        dist.send(tensor, rank)


@pytest.mark.mpi(min_size=2)
def test_objects(group) -> None:
    size, rank = group.world_size, group.rank
    found: list[object] = [None] * size
    dist.all_gather_object(found, {"rank": rank, "text": "x" * rank})
    assert found == [{"rank": r, "text": "x" * r} for r in range(size)]
    shared = [rank, "mine"] if rank == 1 else [None, None]
    dist.broadcast_object_list(shared, src=1)
    assert shared == [1, "mine"]
    there: list[object] | None = [None] * size if rank == 0 else None
    dist.gather_object(rank * rank, there, dst=0)
    assert there in (None, [r * r for r in range(size)])
    mine: list[object] = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None, src=0)
    assert mine == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list(["a", 1], dst=1)
    elif rank == 1:
        got: list[object] = [None, None]
        assert dist.recv_object_list(got, src=0) == 0 and got == ["a", 1]


@pytest.mark.mpi(min_size=2)
def test_groups_of_some_ranks(group) -> None:
    evens = [rank for rank in range(group.world_size) if rank % 2 == 0]
    some = dist.new_group(evens)
    tensor = mpigrad.tensor([float(group.rank)])
    dist.all_reduce(tensor, group=some)
    if group.rank in evens:
        assert tensor.tolist() == [float(sum(evens))] and dist.get_world_size(some) == len(evens)
        assert dist.get_global_rank(some, dist.get_rank(some)) == group.rank
    else:
        assert some is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(some) == -1 and tensor.item() == group.rank


@pytest.mark.mpi(min_size=2)
def test_groups_that_divide_the_ranks(group) -> None:
    size, rank = group.world_size, group.rank
    mine, everyones = dist.new_subgroups(size // 2)
    start = rank // (size // 2) * (size // 2)
    assert dist.get_process_group_ranks(mine) == list(range(start, start + size // 2)) and len(everyones) == 2
    tensor = mpigrad.tensor([rank])
    dist.all_reduce(tensor, group=mine)
    assert tensor.item() == sum(range(start, start + size // 2))
    one, _ = dist.new_subgroups_by_enumeration([[1]])
    assert (one is None) == (rank != 1)
    with pytest.raises(ValueError, match=f"'group_size' \\({size + 1}\\) must not exceed the world size"):
        dist.new_subgroups(size + 1)
    with pytest.raises(ValueError, match="Rank 0 has appeared in both subgroup"):
        dist.new_subgroups_by_enumeration([[0], [0, 1]])


@pytest.mark.mpi(min_size=2)
def test_asynchronous_work_and_barriers(group) -> None:
    tensor = mpigrad.ones(1000)
    work = dist.all_reduce(tensor, async_op=True)
    assert work.wait() and work.is_completed() and tensor.sum().item() == 1000 * group.world_size
    dist.barrier()
    dist.monitored_barrier(timeout=timedelta(seconds=20))


def where() -> int:
    return dist.get_rank()


@pytest.mark.mpi(min_size=2)
def test_collectives_while_rpc_is_served(group, rpc_world) -> None:
    """Every rank waits in a collective while others call it."""
    asked = rpc.rpc_async(rpc_world.worker((group.rank + 1) % group.world_size), where)
    tensor = mpigrad.ones(10)
    for _ in range(20):
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
    assert asked.wait() == (group.rank + 1) % group.world_size
    if group.rank == 0:
        for rank in range(1, group.world_size):  # they are in the barrier by now or soon
            assert rpc.rpc_sync(rpc_world.worker(rank), where) == rank
    dist.barrier()


@pytest.mark.mpi(min_size=1)
def test_errors_before_and_after(world) -> None:
    with pytest.raises(ValueError, match="has not been initialized"):
        dist.get_rank()
    with pytest.raises(ValueError, match="world_size=77"):
        dist.init_process_group(world_size=77)
    dist.init_process_group("gloo", init_method="env://")
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()
    with pytest.raises(RuntimeError, match=f"tensor_list: .*expected length {world.world_size}, got 0"):
        dist.all_gather([], mpigrad.ones(1))
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type mpigrad.Tensor"):
        dist.all_reduce([1.0])
    assert dist.get_backend() == "mpi" and dist.is_initialized()
    world.barrier()
    dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.mpi(min_size=2)
def test_the_future_of_a_receive_completes_when_the_message_comes_without_anybody_waiting(group) -> None:
    if group.rank == 0:
        tensor = mpigrad.zeros(2)
        future = dist.irecv(tensor, src=1).get_future()
        assert not future.done()
        seen = future.then(lambda done: tensor.tolist())
        group.barrier()
        assert seen.wait() == [7.0, 8.0]
    else:
        group.barrier()
        if group.rank == 1:
            dist.send(mpigrad.tensor([7.0, 8.0]), dst=0)


@pytest.mark.mpi(min_size=2)
def test_many_futures_of_work_complete_and_their_thread_ends(group) -> None:
    tensors = [mpigrad.full((3,), float(i)) for i in range(20)]
    futures = [dist.all_reduce(tensor, async_op=True).get_future() for tensor in tensors]
    for future in futures:
        future.wait()
    assert all(tensor.tolist() == [i * group.world_size] * 3 for i, tensor in enumerate(tensors))
    eventually(lambda: "mpigrad-futures-of-work" not in [thread.name for thread in threading.enumerate()])


@pytest.mark.mpi(min_size=2)
def test_with_one_thread_at_a_time_rpc_and_collectives_take_turns(world, monkeypatch) -> None:
    MPI = _mpi.mpi()
    monkeypatch.setattr(MPI, "Query_thread", lambda: MPI.THREAD_SERIALIZED)
    dist.init_process_group(timeout=timedelta(seconds=60))
    rpc.init_rpc(f"turns{world.rank}", rank=world.rank, world_size=world.world_size)
    try:
        assert current.agent.progress.queue.lock is _mpi.turn_lock()
        calls = [rpc.rpc_async(f"turns{(world.rank + 1) % world.world_size}", abs, args=(-i,)) for i in range(50)]
        for _ in range(50):
            tensor = mpigrad.ones(4)
            dist.all_reduce(tensor)
            assert tensor.tolist() == [world.world_size] * 4
        assert [call.wait() for call in calls] == list(range(50))
    finally:
        rpc.shutdown()
        dist.destroy_process_group()
