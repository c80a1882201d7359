"""Collectives that are checked before they start: with MPIGRAD_DISTRIBUTED_DEBUG=detail, and in distributed passes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.nn.functional as F
import mpigrad.distributed.rpc as rpc


@pytest.fixture
def checked(world, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("MPIGRAD_DISTRIBUTED_DEBUG", "DETAIL")
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=20))
    yield world
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
def test_equal_collectives_run(checked) -> None:
    x = mpigrad.ones(3, requires_grad=True)
    (F.all_reduce(x) * F.broadcast(x, 0)).sum().backward()
    dist.barrier()
    assert x.grad.tolist()[0] >= checked.world_size
    assert dist.group.WORLD.agreed == 5


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize(
    ("odd", "pattern"),
    [
        (lambda: dist.all_reduce(mpigrad.ones(3)), r"rank 1 runs all_reduce of a mpigrad.float32 of shape \[3\], SUM"),
        (lambda: dist.all_reduce(mpigrad.ones(2).double()), "rank 1 runs all_reduce of a mpigrad.float64"),
        (lambda: dist.all_reduce(mpigrad.ones(2), dist.ReduceOp.MAX), r"rank 1 runs .* MAX \(sequence number 0\)"),
        (lambda: dist.broadcast(mpigrad.ones(2), 0), "rank 1 runs broadcast"),
    ],
    ids=["shape", "dtype", "operation", "collective"],
)
def test_the_rank_that_differs_is_named(checked, odd, pattern: str) -> None:
    with pytest.raises(RuntimeError, match=f"Detected mismatch between collectives on ranks: {pattern}.* but rank 0, 2"):
        if checked.rank == 1:
            odd()
        else:
            dist.all_reduce(mpigrad.ones(2))


@pytest.mark.mpi(min_size=2)
def test_a_number_that_differs_is_named(checked) -> None:
    if checked.rank == 0:
        dist.group.WORLD.agreed = 7
    with pytest.raises(RuntimeError, match=r"sequence number 7.*sequence number 0|sequence number 0.*sequence number 7"):
        dist.barrier()


def test_a_wrong_setting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIGRAD_DISTRIBUTED_DEBUG", "much")
    with pytest.raises(ValueError, match="'much'; it is off, info or detail"):
        dist.init_process_group()
    assert not dist.is_initialized()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
@pytest.mark.parametrize("present", ["all", "first", "last"])
def test_a_distributed_pass_that_reaches_a_collective_on_some_ranks_only(world, present: str) -> None:
    """An error that names the missing ranks, long before the group's timeout."""
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=60))
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.world_size)
    rpc._set_rpc_timeout(20.0 if present == "all" else 1.0)
    x = mpigrad.ones(2, requires_grad=True)
    with dist_autograd.context() as context_id:
        made = F.all_reduce(x)
        if present == "all":
            dist_autograd.backward(context_id, [made.sum()])
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [world.world_size] * 2
        elif present == "first" and world.rank == 0:
            missing = ", ".join(map(str, range(1, world.world_size)))
            with pytest.raises(RuntimeError, match=f"all_reduce of .*: ranks? {missing} of the group .* within 0.5 s"):
                dist_autograd.backward(context_id, [made.sum()])
        elif present == "last" and world.rank == world.world_size - 1:
            with pytest.raises(RuntimeError, match="about to run all_reduce of .*, but rank 0 of its group .* within 1 s"):
                dist_autograd.backward(context_id, [made.sum()])
    rpc._set_rpc_timeout(60.0)
    rpc.shutdown()
    dist.destroy_process_group()


def _with_all(x: mpigrad.Tensor, factor: float) -> mpigrad.Tensor:
    """Runs on every rank at once: a sum over the ranks."""
    return F.all_reduce(x * factor)


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_collectives_in_remote_functions(world) -> None:
    """Forwards and backwards in the threads of the callees, in a pass that one rank starts."""
    size = world.world_size
    dist.init_process_group(rank=world.rank, world_size=size, timeout=timedelta(seconds=20))
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=size)
    if world.rank == 0:
        x = mpigrad.tensor([1.0, 2.0], requires_grad=True)
        factors = [rank + 2.0 for rank in range(size)]
        with dist_autograd.context() as context_id:
            calls = [rpc.rpc_async(f"worker{rank}", _with_all, (x, factor)) for rank, factor in enumerate(factors)]
            sums = [call.wait() for call in calls]
            assert all(each.tolist() == [sum(factors), 2 * sum(factors)] for each in sums)
            dist_autograd.backward(context_id, [sum(each.sum() * (rank + 1) for rank, each in enumerate(sums))])
            total = size * (size + 1) / 2  # the gradients of all results, added up by the backward of `all_reduce`
            assert dist_autograd.get_gradients(context_id)[x].tolist() == [total * sum(factors)] * 2
    rpc.shutdown()
    dist.destroy_process_group()
