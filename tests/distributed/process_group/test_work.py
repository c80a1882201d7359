"""`Work`: what it gives, and when it gives up; barriers that say who is missing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad.distributed._process_group import work as work_module
from tests.support.eventually import eventually


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
def test_futures_of_work_hold_its_tensors(group) -> None:
    """Programs average gradients in callbacks: `work.get_future().then(lambda fut: fut.value()[0] / size)`."""
    size = group.world_size
    tensor = mpigrad.full((3,), float(group.rank))
    mean = dist.all_reduce(tensor, async_op=True).get_future().then(lambda fut: fut.value()[0] / size)
    assert mean.wait().tolist() == [(size - 1) / 2] * 3
    (given,) = dist.broadcast(tensor, 0, async_op=True).result()
    assert given is tensor
    rows = [mpigrad.zeros(1) for _ in range(size)]
    found = dist.all_gather(rows, mpigrad.full((1,), float(group.rank)), async_op=True).get_future().wait()
    assert [each.item() for each in found] == list(range(size))
    assert dist.barrier(async_op=True).get_future().wait() == []


@pytest.mark.mpi(min_size=2)
def test_work_that_went_well(group) -> None:
    work = dist.all_reduce(mpigrad.ones(1), async_op=True)
    work.synchronize()
    assert work.is_completed() and work.is_success() and work.exception() is None


@pytest.mark.mpi(min_size=2)
def test_a_barrier_has_a_time_of_its_own(group) -> None:
    if group.rank == 0:
        with pytest.raises(RuntimeError, match=r"barrier did not end within 0\.2 s"):
            dist.barrier(timeout=timedelta(seconds=0.2))
        group.barrier()
    else:
        group.barrier()
        dist.barrier()
    group.barrier()


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("everyone", [False, True])
def test_a_monitored_barrier_names_who_did_not_come(group, everyone) -> None:
    short = timedelta(seconds=0.3)
    missing = list(range(1, group.world_size))
    if group.rank == 0:
        named = "Ranks " + ", ".join(map(str, missing)) if everyone and len(missing) > 1 else "Rank 1"
        with pytest.raises(RuntimeError, match=rf"\[Rank 0\]: {named} failed to pass monitoredBarrier in 300 ms"):
            dist.monitored_barrier(timeout=short, wait_all_ranks=everyone)
        group.barrier()
    else:
        group.barrier()
        with pytest.raises(RuntimeError, match=f"Rank {group.rank} successfully reached monitoredBarrier, but"):
            dist.monitored_barrier(timeout=short)
    group.barrier()
    for _ in range(3):  # messages of the one that failed do not count here
        dist.monitored_barrier(timeout=timedelta(seconds=30))


@pytest.mark.mpi(min_size=2)
def test_buffers_of_dropped_work_are_not_reused(group) -> None:
    """Rank 0 comes late, so that the operation runs after the others have dropped it and made new tensors."""
    others: list[mpigrad.Tensor] = []
    if group.rank:
        dist.all_reduce(mpigrad.ones(5000), async_op=True)
        others = [mpigrad.zeros(5000) for _ in range(50)]
    group.barrier()
    if not group.rank:
        dist.all_reduce(mpigrad.ones(5000))
    dist.barrier()
    assert all(float(each.sum()) == 0 for each in others)

    def freed() -> bool:  # the same on all ranks; an operation may end on some ranks long before it does on others
        dist.barrier()
        return not any(group.gather(bool(work_module._dropped)))

    eventually(freed)
