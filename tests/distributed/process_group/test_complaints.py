"""What process groups refuse, before anything is sent: every rank gets PyTorch's error, and the group still works."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import mpigrad
import mpigrad.distributed as dist


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=30))
    yield world
    total = mpigrad.ones(1)
    dist.all_reduce(total)
    assert total.item() == world.world_size
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("dtype", [mpigrad.int64, mpigrad.int32, mpigrad.uint8, mpigrad.bool], ids=str)
def test_averages_of_integers_are_refused_not_cut(group, dtype) -> None:
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type"):
        dist.all_reduce(mpigrad.tensor([1, 0]).to(dtype), op=dist.ReduceOp.AVG)


@pytest.mark.mpi(min_size=2)
def test_operations_that_do_not_fit(group) -> None:
    with pytest.raises(ValueError, match="all_reduce does not support ReduceOp.MAX on complex tensors"):
        dist.all_reduce(mpigrad.ones(1, dtype=mpigrad.complex64), op=dist.ReduceOp.MAX)
    with pytest.raises(RuntimeError, match="Cannot use ReduceOp.PREMUL_SUM"):
        dist.all_reduce(mpigrad.ones(1), op=dist.ReduceOp.PREMUL_SUM)
    with pytest.raises(TypeError, match="op must be a ReduceOp"):
        dist.all_reduce(mpigrad.ones(1), op="sum")


@pytest.mark.mpi(min_size=2)
def test_tensors_of_different_types_are_refused(group) -> None:
    size, double = group.world_size, mpigrad.float64
    calls = [
        lambda: dist.all_gather_into_tensor(mpigrad.zeros(2 * size, dtype=double), mpigrad.ones(2)),
        lambda: dist.reduce_scatter_tensor(mpigrad.zeros(2, dtype=double), mpigrad.ones(2 * size)),
        lambda: dist.all_to_all_single(mpigrad.zeros(size), mpigrad.zeros(size, dtype=double)),
        lambda: dist.all_gather([mpigrad.zeros(2, dtype=double) for _ in range(size)], mpigrad.ones(2)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="tensors with different dtypes"):
            call()


@pytest.mark.mpi(min_size=2)
def test_lists_that_do_not_fit(group) -> None:
    size = group.world_size
    with pytest.raises(RuntimeError, match=r"invalid tensor size at index 0 \(expected \(2,\), got \(3,\)\)"):
        dist.all_gather([mpigrad.zeros(3) for _ in range(size)], mpigrad.ones(2))
    with pytest.raises(TypeError, match="`tensor_list` of type List"):
        dist.all_gather(tuple(mpigrad.zeros(2) for _ in range(size)), mpigrad.ones(2))
    with pytest.raises(TypeError, match="`tensor` of type mpigrad.Tensor"):
        dist.all_gather([mpigrad.zeros(2) for _ in range(size)], [mpigrad.ones(2)])
    with pytest.raises(RuntimeError, match="Number of tensor splits not equal to group size"):
        dist.all_to_all_single(mpigrad.zeros(size), mpigrad.zeros(size), [1] * (size - 1), [1] * size)


@pytest.mark.mpi(min_size=2)
def test_ranks_that_are_not_there(group) -> None:
    one = mpigrad.ones(1)
    with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
        dist.broadcast(one)
    with pytest.raises(ValueError, match="Can't specify both group_rank and global_rank"):
        dist.broadcast(one, 0, group_src=0)
    with pytest.raises(ValueError, match="Group rank 99 is not part of"):
        dist.broadcast(one, group_src=99)
    with pytest.raises(ValueError, match="Rank 99 is out of range. Valid ranks are 0 to"):
        dist.new_group([0, 99])
    with pytest.raises(ValueError, match="must not contain duplicate entries"):
        dist.new_group([0, 0])
    with pytest.raises(TypeError, match="Expected timeout argument to be of type datetime.timedelta, got 5"):
        dist.new_group([0], timeout=5)


@pytest.mark.mpi(min_size=2)
def test_batches_of_messages_are_checked_when_they_are_made(group) -> None:
    one, other = mpigrad.ones(1), (group.rank + 1) % group.world_size
    made = dist.P2POp(dist.isend, one, group_peer=other)
    assert (made.peer, made.group_peer, made.group) == (other, other, dist.group.WORLD)
    assert repr(made).startswith(f"P2POp(isend pg=0, group_src={group.rank}, group_dst={other},")
    with pytest.raises(ValueError, match="Invalid ``op``"):
        dist.P2POp(dist.broadcast, one, other)
    with pytest.raises(TypeError, match="`tensor` of type"):
        dist.P2POp(dist.isend, [1.0], other)
    with pytest.raises(ValueError, match="Must specify global_rank"):
        dist.P2POp(dist.isend, one)
    with pytest.raises(ValueError, match="Invalid ``p2p_op_list``"):
        dist.batch_isend_irecv([1])
    with pytest.raises(IndexError):
        dist.batch_isend_irecv([])


@pytest.mark.mpi(min_size=2)
def test_messages_of_another_length_are_errors_not_half_filled_tensors(group) -> None:
    if group.rank == 0:
        dist.send(mpigrad.ones(2), 1)
        dist.send(mpigrad.arange(4.0), 1)
    elif group.rank == 1:
        work = dist.irecv(mpigrad.zeros(3), 0)
        with pytest.raises(RuntimeError, match="takes 12 bytes, the message from rank 0 has 8"):
            work.wait()
        assert work.is_completed() and not work.is_success() and isinstance(work.exception(), RuntimeError)
        square = mpigrad.zeros(2, 2)
        dist.recv(square, 0)
        assert square.tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.mpi(min_size=2)
def test_groups_that_are_gone_or_not_ours(group) -> None:
    everyone, first = dist.new_group(group_desc="all of us"), dist.new_group([0])
    assert everyone.group_desc == "all of us" and dist.group.WORLD.group_desc == "default_pg"
    if group.rank:
        assert first is dist.GroupMember.NON_GROUP_MEMBER
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.send(mpigrad.ones(1), 0, group=first)
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.recv_object_list([None], 0, group=first)
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.get_backend(first)
    dist.destroy_process_group(first)
    dist.destroy_process_group(everyone)
    for call in (dist.get_rank, dist.barrier):
        with pytest.raises(ValueError, match="is not registered, please create group with mpigrad.distributed.new_group"):
            call(everyone)
    with pytest.raises(ValueError, match="Group 7 is not registered"):
        dist.get_world_size(7)


@pytest.mark.mpi(min_size=1)
def test_before_a_group_is_there(world) -> None:
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()
    with pytest.raises(TypeError, match="Expected timeout argument to be of type datetime.timedelta, got 5"):
        dist.init_process_group("gloo", timeout=5)
    with pytest.raises(AssertionError, match="Cannot specify both init_method and store"):
        dist.init_process_group("gloo", init_method="env://", store=object())
    assert not dist.is_initialized()
