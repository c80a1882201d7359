"""DistributedOptimizer: the trajectories of a local optimizer; errors of several workers; concurrent trainers."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import optim
from mpigrad.distributed.optim import DistributedOptimizer

from . import parts

pytestmark = pytest.mark.mpi(min_size=2)

KINDS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.05, "amsgrad": True},
    "AdamW": {"lr": 0.05},
    "Adagrad": {"lr": 0.1},
    "RMSprop": {"lr": 0.01, "momentum": 0.5, "centered": True},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "ASGD": {"t0": 2},
    "Rprop": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_trajectory_is_that_of_a_local_optimizer(rpc_world, kind: str) -> None:
    if rpc_world.rank:
        return
    split, whole = parts.Split(rpc_world), parts.Whole(rpc_world)
    distributed = DistributedOptimizer(getattr(optim, kind), split.rrefs(), **KINDS[kind])
    local = getattr(optim, kind)(whole.parts.parameters(), **KINDS[kind])
    for x in parts.inputs(8):
        assert split.step(distributed, x) == whole.step(local, x)
    assert parts.same(split.values(), whole.values())


def test_sparse_gradients_step_where_they_are(rpc_world) -> None:
    if rpc_world.rank:
        return
    split, whole = parts.Split(rpc_world, sparse=True), parts.Whole(rpc_world, sparse=True)
    distributed = DistributedOptimizer(optim.SGD, split.rrefs(), lr=0.1)
    local = optim.SGD(whole.parts.parameters(), lr=0.1)
    for x in parts.inputs(5, sparse=True):
        assert split.step(distributed, x) == whole.step(local, x)
    assert parts.same(split.values(), whole.values())


def test_a_failing_constructor_says_so_for_every_worker(rpc_world) -> None:
    if rpc_world.rank:
        return
    owners = [rpc_world.worker(rank) for rank in range(rpc_world.world_size)]
    rrefs = [rpc.remote(owner, parts.weight) for owner in owners]
    with pytest.raises(KeyError, match="no optimizer on worker") as caught:
        DistributedOptimizer(parts.FailsToStart, rrefs)
    told = f"{caught.value} {getattr(caught.value, '__notes__', [])}"
    assert all(f"no optimizer on {owner}" in told for owner in owners)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        DistributedOptimizer(optim.SGD, rrefs, lr=-1)


def test_a_failing_step_is_told_after_the_others_have_stepped(rpc_world) -> None:
    if rpc_world.rank:
        return
    owners = [rpc_world.worker(rank) for rank in range(rpc_world.world_size)]
    rrefs = [rpc.remote(owner, parts.weight) for owner in owners]
    optimizer = DistributedOptimizer(parts.FailsToStep, rrefs, owners[1:])
    with dist_autograd.context() as context_id:
        loss = sum(rpc.rpc_sync(rref.owner(), parts.times, args=(rref, mpigrad.ones(3))).sum() for rref in rrefs)
        dist_autograd.backward(context_id, [loss])
        with pytest.raises(ArithmeticError, match="no step on worker") as caught:
            optimizer.step(context_id)
    told = f"{caught.value} {getattr(caught.value, '__notes__', [])}"
    assert all(f"no step on {owner}" in told for owner in owners[1:])
    stepped = [rref.to_here()[0].item() for rref in rrefs]
    assert stepped == pytest.approx([0.9] + [1.0] * (len(owners) - 1))


def test_a_context_that_does_not_exist_is_refused(rpc_world) -> None:
    optimizer = DistributedOptimizer(optim.SGD, [rpc.remote(rpc_world.next_name, parts.weight)], lr=0.1)
    with pytest.raises(RuntimeError, match="Could not find autograd context with id: 123"):
        optimizer.step(123)


def test_what_is_not_an_rref_is_refused(rpc_world) -> None:
    with pytest.raises(TypeError, match="takes RRefs of parameters, got Tensor"):
        DistributedOptimizer(optim.SGD, [mpigrad.ones(1)], lr=0.1)
    assert DistributedOptimizer(optim.SGD, [], lr=0.1).remote_optimizers == []


def test_parameters_without_a_gradient_stay(rpc_world) -> None:
    rrefs = [rpc.remote(rpc_world.next_name, parts.weight) for _ in range(2)]
    optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=0.5)
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync(rrefs[0].owner(), parts.times, args=(rrefs[0], mpigrad.ones(3))).sum()
        dist_autograd.backward(context_id, [loss])
        optimizer.step(context_id)
    assert [rref.to_here().tolist() for rref in rrefs] == [[0.5] * 3, [1.0] * 3]


def test_grad_itself_is_neither_used_nor_changed(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, parts.weight)
    rpc.rpc_sync(rref.owner(), parts.set_grad, args=(rref,))
    parts.train_weight(rref, optim.SGD, steps=1)
    assert rref.to_here().tolist() == [0.0] * 3
    assert rpc.rpc_sync(rref.owner(), parts.get_grad, args=(rref,)).tolist() == [7.0] * 3


def test_concurrent_trainers_lose_no_step(rpc_world) -> None:
    """Every rank trains the same weight: each gradient is 1 in any order, so the sum of all steps is known."""
    if rpc_world.rank == 0:
        rref = rpc.remote(rpc_world.worker(1), parts.weight)
        trainers = [
            rpc.rpc_async(rpc_world.worker(rank), parts.train_weight, args=(rref, optim.SGD, 10))
            for rank in range(rpc_world.world_size)
            for _ in range(2)
        ]
        for trainer in trainers:
            trainer.wait()
        assert rref.to_here().tolist() == [1.0 - 10 * len(trainers)] * 3
    rpc_world.barrier()
    assert dist_autograd._get_debug_info()["num_current_backward_passes"] == 0
