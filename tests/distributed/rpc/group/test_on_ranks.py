"""Calls to groups on ranks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

from . import functions as far


@pytest.mark.mpi(min_size=2)
def test_every_rank_calls_all_at_the_same_time(rpc_world: Any) -> None:
    size, group = rpc_world.world_size, rpc.WorkerGroup(fan_out=2)
    for step in range(20):
        assert group.rpc_sync(far.fail_on, args=([], step)) == [rank + step for rank in range(size)]
        assert group.rpc_sync(far.rank, reduce=operator.add) == sum(range(size))
    assert [rref.to_here() for rref in group.remote(far.rank)] == list(range(size))


@pytest.mark.mpi(min_size=2)
def test_gradients_are_those_of_a_loop_of_calls(rpc_world: Any) -> None:
    found = []
    for fan_out in (0, 1, 2, None):
        with dist_autograd.context() as context_id:
            x = mpigrad.arange(5.0).requires_grad_()
            if fan_out == 0:
                values = [rpc.rpc_sync(rank, far.scaled, args=(x,)) for rank in range(rpc_world.world_size)]
            else:
                values = rpc.WorkerGroup(fan_out=fan_out).rpc_sync(far.scaled, args=(x,))
            dist_autograd.backward(context_id, [sum(value.sum() * (i + 1) for i, value in enumerate(values))])
            found.append(dist_autograd.get_gradients(context_id)[x].tolist())
    assert found[1:] == found[:1] * 3


@pytest.mark.mpi(min_size=2)
def test_large_arguments_and_results_in_a_context(rpc_world: Any) -> None:
    with dist_autograd.context() as context_id:
        x = mpigrad.from_numpy(np.arange(300_000.0)).requires_grad_()
        total = rpc.WorkerGroup(fan_out=2).rpc_sync(far.scaled, args=(x,), reduce=operator.add)
        dist_autograd.backward(context_id, [total.sum()])
        size = rpc_world.world_size
        expected = sum(range(1, size + 1)) + 2 * size * np.arange(300_000.0)
        np.testing.assert_allclose(dist_autograd.get_gradients(context_id)[x].numpy(), expected)


@pytest.mark.mpi(min_size=2)
def test_errors_name_the_failed_ranks(rpc_world: Any) -> None:
    last = rpc_world.world_size - 1
    with pytest.raises(rpc.GroupError, match=f"1 of {last + 1} members") as caught:
        rpc.WorkerGroup(fan_out=1).rpc_sync(far.fail_on, args=([last],))
    assert list(caught.value.errors) == [f"worker{last}"]


@pytest.mark.mpi(min_size=4)
def test_meshes(rpc_world: Any) -> None:
    group = rpc.WorkerGroup(range(4), shape={"data": 2, "pipe": 2})
    assert [part.rpc_sync(far.rank) for part in group.slices("pipe")] == [[0, 2], [1, 3]]
