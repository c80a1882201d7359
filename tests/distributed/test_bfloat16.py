"""bfloat16 between ranks: small and large arrays of calls, distributed backward, collectives, RRefs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.mpi(min_size=2)


def of(rank: int, *shape: int) -> mpigrad.Tensor:
    return (mpigrad.arange(int(mpigrad.Size(shape).numel())).reshape(shape) % 64 + rank).bfloat16()


def twice(x: mpigrad.Tensor) -> mpigrad.Tensor:
    assert x.dtype is mpigrad.bfloat16
    return x * 2


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (100, 100), (1024, 1024)])
def test_calls(rpc_world, shape: tuple[int, ...]) -> None:
    to, x = (rpc_world.rank + 1) % rpc_world.world_size, of(rpc_world.rank, *shape)
    found = rpc.rpc_sync(to, twice, args=(x,))
    assert found.dtype is mpigrad.bfloat16 and bool((found == x * 2).all())
    nested = rpc.rpc_sync(to, len, args=({"x": x, "y": [x.numpy()]},))
    assert nested == 2
    assert bool((rpc.remote(to, mpigrad.add, args=(x, 1)).to_here() == x + 1).all())


@pytest.mark.parametrize("length", [4, 40_000])
def test_distributed_backward(rpc_world, length: int) -> None:
    x = of(0, length).requires_grad_()
    with dist_autograd.context() as context_id:
        y = rpc.rpc_sync((rpc_world.rank + 1) % rpc_world.world_size, mpigrad.mul, args=(x, x))
        dist_autograd.backward(context_id, [(y * 3).sum()])
        grad = dist_autograd.get_gradients(context_id)[x]
    assert grad.dtype is mpigrad.bfloat16 and bool((grad == 6 * x).all())
    rpc_world.barrier()


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


def test_reductions(group) -> None:
    ranks = range(group.world_size)
    for op, wanted in (
        (dist.ReduceOp.SUM, sum(of(rank, 5).float() for rank in ranks)),
        (dist.ReduceOp.AVG, sum(of(rank, 5).float() for rank in ranks) / group.world_size),
        (dist.ReduceOp.MAX, of(group.world_size - 1, 5).float()),
    ):
        x = of(group.rank, 5)
        dist.all_reduce(x, op=op)
        assert x.dtype is mpigrad.bfloat16 and x.tolist() == wanted.bfloat16().tolist()
    with pytest.raises(RuntimeError, match="non-integral"):
        dist.all_reduce(of(0, 2), op=dist.ReduceOp.BOR)


def test_sums_are_added_up_in_float32(group) -> None:
    x = mpigrad.full((1,), 256.0 if group.rank == 0 else 0.5, dtype=mpigrad.bfloat16)  # 256 + 0.5 is 256 in bfloat16
    dist.all_reduce(x)
    assert x.item() == mpigrad.tensor(256.0 + 0.5 * (group.world_size - 1)).bfloat16().item()


def test_other_collectives(group) -> None:
    ranks = range(group.world_size)
    x = of(group.rank, 3)
    dist.broadcast(x, src=1)
    assert x.tolist() == of(1, 3).tolist()
    found = [mpigrad.empty(2, dtype=mpigrad.bfloat16) for _ in ranks]
    dist.all_gather(found, of(group.rank, 2))
    assert [each.tolist() for each in found] == [of(rank, 2).tolist() for rank in ranks]
    part = mpigrad.empty(2, dtype=mpigrad.bfloat16)
    dist.reduce_scatter(part, [of(rank, 2) for rank in ranks])
    assert part.tolist() == [group.world_size * each for each in of(group.rank, 2).tolist()]
    if group.rank < 2:
        other = mpigrad.empty(2, dtype=mpigrad.bfloat16)
        pair = dist.P2POp(dist.isend, of(group.rank, 2), 1 - group.rank), dist.P2POp(dist.irecv, other, 1 - group.rank)
        works = dist.batch_isend_irecv(list(pair))
        for work in works:
            work.wait()
        assert other.tolist() == of(1 - group.rank, 2).tolist()
