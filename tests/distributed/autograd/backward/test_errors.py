"""Errors on any worker end the pass everywhere, reach the caller as they are, and leave everything clean."""

from __future__ import annotations

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

from .. import functions as fn

pytestmark = pytest.mark.mpi(min_size=2)


def passes_here() -> int:
    return dist_autograd._get_debug_info()["num_current_backward_passes"]


def check_clean(world) -> None:
    """No pass is left anywhere, and the next one is right."""
    names = [world.worker(rank) for rank in range(world.world_size)]
    eventually(lambda: [rpc.rpc_sync(name, passes_here) for name in names], equals=[0] * len(names))
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(world.next_name, mpigrad.mul, args=(a, a)).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [2.0] * 3


def test_an_error_in_another_workers_backward(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, fn.failing, args=(a,)).sum()
        with pytest.raises(KeyError, match="no gradient today") as caught:
            dist_autograd.backward(context_id, [loss])
        assert rpc_world.next_name in str(caught.value.__cause__) and "no gradient today" in str(caught.value.__cause__)
    check_clean(rpc_world)


@pytest.mark.mpi(min_size=3)
def test_an_error_two_workers_away(rpc_world) -> None:
    a = fn.ones(3)
    beyond = rpc_world.worker((rpc_world.rank + 2) % rpc_world.world_size)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, fn.fail_then_add, args=(a, beyond)).sum()
        with pytest.raises(KeyError, match="no gradient today"):
            dist_autograd.backward(context_id, [loss])
    check_clean(rpc_world)


def test_an_error_while_other_gradients_wait_for_each_other(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        y = a * 3
        good = rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(y, y))
        bad = rpc.rpc_sync(rpc_world.next_name, fn.failing, args=(y,))
        with pytest.raises(KeyError, match="no gradient today"):
            dist_autograd.backward(context_id, [(good + bad + y).sum()])
    check_clean(rpc_world)


def test_an_error_of_the_callers_own(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = fn.Fails.apply(rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(a, a))).sum()
        with pytest.raises(KeyError, match="no gradient today"):
            dist_autograd.backward(context_id, [loss])
    check_clean(rpc_world)


def test_an_error_in_forward(rpc_world) -> None:
    with dist_autograd.context():
        with pytest.raises(RuntimeError, match="must match the size"):
            rpc.rpc_sync(rpc_world.next_name, mpigrad.add, args=(fn.ones(3), fn.ones(4)))
    check_clean(rpc_world)


def release_there(context_id: int) -> None:
    dist_autograd._release_context(context_id)


def test_a_context_that_another_worker_lost(rpc_world) -> None:
    a = fn.ones(3)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rpc_world.next_name, mpigrad.mul, args=(a, a)).sum()
        rpc.rpc_sync(rpc_world.next_name, release_there, args=(context_id,))
        with pytest.raises(RuntimeError, match="were not recorded on the workers|Could not find autograd context with id"):
            dist_autograd.backward(context_id, [loss])
    check_clean(rpc_world)
