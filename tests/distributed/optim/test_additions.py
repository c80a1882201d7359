"""What DistributedOptimizer has beyond PyTorch's: states, learning-rate schedules, clipping over all workers."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.optim import DistributedOptimizer, DistributedScheduler, clip_grad_norm_
from mpigrad.optim import lr_scheduler

from . import parts

pytestmark = pytest.mark.mpi(min_size=2)

SCHEDULES: dict[str, dict[str, Any]] = {
    "StepLR": {"step_size": 2, "gamma": 0.5},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 5},
    "OneCycleLR": {"max_lr": 0.2, "total_steps": 10},
}


def trained(network: Any, optimizer: Any, steps: int) -> list[float]:
    return [network.step(optimizer, x) for x in parts.inputs(steps)]


@pytest.mark.parametrize("kind", SCHEDULES)
def test_schedules_give_the_trajectory_of_a_local_one(rpc_world, kind: str) -> None:
    if rpc_world.rank:
        return
    split, whole = parts.Split(rpc_world), parts.Whole(rpc_world)
    distributed = DistributedOptimizer(optim.SGD, split.rrefs(), lr=0.1, momentum=0.9)
    local = optim.SGD(whole.parts.parameters(), lr=0.1, momentum=0.9)
    schedules = (
        DistributedScheduler(getattr(lr_scheduler, kind), distributed, **SCHEDULES[kind]),
        getattr(lr_scheduler, kind)(local, **SCHEDULES[kind]),
    )
    for x in parts.inputs(6):
        assert split.step(distributed, x) == whole.step(local, x)
        for schedule in schedules:
            schedule.step()
        workers = [rpc_world.worker(rank) for rank in range(1, rpc_world.world_size)]
        assert schedules[0].get_last_lr() == {worker: schedules[1].get_last_lr() for worker in workers}
    assert parts.same(split.values(), whole.values())


def test_a_schedule_goes_on_from_its_state(rpc_world) -> None:
    if rpc_world.rank:
        return
    made: list[DistributedScheduler] = []
    for _ in range(2):
        split = parts.Split(rpc_world)
        optimizer = DistributedOptimizer(optim.SGD, split.rrefs(), lr=0.1)
        made.append(DistributedScheduler(lr_scheduler.StepLR, optimizer, step_size=2))
        trained(split, optimizer, 1)
    for _ in range(3):
        made[0].step()
    made[1].load_state_dict(made[0].state_dict())
    made[1].optimizer.load_state_dict(made[0].optimizer.state_dict())
    assert made[1].get_last_lr() == made[0].get_last_lr()
    for schedule in made:
        schedule.step()
    assert made[1].state_dict() == made[0].state_dict()


def test_several_schedules_work_on_one_optimizer(rpc_world) -> None:
    """A short warm-up beside a decay, each stepped by itself, as on a local optimizer."""
    if rpc_world.rank:
        return
    split, whole = parts.Split(rpc_world), parts.Whole(rpc_world)
    distributed = DistributedOptimizer(optim.SGD, split.rrefs(), lr=0.1)
    local = optim.SGD(whole.parts.parameters(), lr=0.1)
    warm, decay = {"start_factor": 0.25, "total_iters": 3}, {"gamma": 0.5}
    ours = [
        DistributedScheduler(lr_scheduler.LinearLR, distributed, **warm),
        DistributedScheduler(lr_scheduler.ExponentialLR, distributed, **decay),
    ]
    theirs = [lr_scheduler.LinearLR(local, **warm), lr_scheduler.ExponentialLR(local, **decay)]
    for turn, x in enumerate(parts.inputs(5)):
        assert split.step(distributed, x) == whole.step(local, x)
        for schedule, wanted in zip(ours, theirs):
            schedule.step()
            wanted.step()
            assert set(map(tuple, schedule.get_last_lr().values())) == {tuple(wanted.get_last_lr())}, turn
    assert parts.same(split.values(), whole.values())


def test_a_schedule_that_watches_a_metric(rpc_world) -> None:
    optimizer = DistributedOptimizer(optim.SGD, [rpc.remote(rpc_world.next_name, parts.weight)], lr=1.0)
    schedule = DistributedScheduler(lr_scheduler.ReduceLROnPlateau, optimizer, patience=1, factor=0.5)
    rates = []
    for metric in (3.0, 2.0, 2.0, 2.0, 2.0, 2.0):
        schedule.step(metric)
        rates.append(schedule.get_last_lr()[rpc_world.next_name][0])
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
    with pytest.raises(ValueError, match=r"this schedule is on workers .* the state on \['elsewhere'\]"):
        schedule.load_state_dict({"elsewhere": {}})


def test_a_schedule_needs_a_distributed_optimizer(rpc_world) -> None:
    with pytest.raises(TypeError, match="SGD is not a DistributedOptimizer"):
        DistributedScheduler(lr_scheduler.StepLR, optim.SGD([parts.weight()], lr=0.1), step_size=1)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_training_goes_on_from_a_state(rpc_world, kind: str) -> None:
    if rpc_world.rank:
        return
    options = {"lr": 0.1, "momentum": 0.9} if kind == "SGD" else {"lr": 0.1}
    through, first, second = (parts.Split(rpc_world) for _ in range(3))
    wanted = trained(through, DistributedOptimizer(getattr(optim, kind), through.rrefs(), **options), 6)
    before = DistributedOptimizer(getattr(optim, kind), first.rrefs(), **options)
    found = trained(first, before, 3)
    for rref, value in zip(second.rrefs(), first.values()):
        rpc.rpc_sync(rref.owner(), put, args=(rref, value))
    after = DistributedOptimizer(getattr(optim, kind), second.rrefs(), lr=9.0)
    after.load_state_dict(before.state_dict())
    found += [second.step(after, x) for x in parts.inputs(6)[3:]]
    assert found == wanted
    assert parts.same(second.values(), through.values())


def put(rref: Any, value: Any) -> None:
    with mpigrad.no_grad():
        rref.local_value().copy_(value)


def test_the_state_of_other_workers_is_refused(rpc_world) -> None:
    optimizer = DistributedOptimizer(optim.SGD, [rpc.remote(rpc_world.next_name, parts.weight)], lr=0.1)
    assert list(optimizer.state_dict()) == [rpc_world.next_name]
    with pytest.raises(ValueError, match=rf"on workers \['{rpc_world.next_name}'\], the state on \['elsewhere'\]"):
        optimizer.load_state_dict({"elsewhere": {}})


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.5, float("inf")])
@pytest.mark.parametrize("sparse", [False, True])
def test_clipping_is_that_of_one_process(rpc_world, norm_type: float, sparse: bool) -> None:
    if rpc_world.rank:
        return
    split, whole = parts.Split(rpc_world, sparse), parts.Whole(rpc_world, sparse)
    rrefs = split.rrefs()
    (x,) = parts.inputs(1, sparse)
    whole.loss(x).backward()
    if sparse:  # nn.utils takes dense ones; the norm is the same
        whole.parts[0].layer.weight.grad = whole.parts[0].layer.weight.grad.to_dense()
    wanted = nn.utils.clip_grad_norm_(whole.parts.parameters(), 0.05, norm_type)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [split.loss(x)])
        found = clip_grad_norm_(context_id, rrefs, 0.05, norm_type)
        assert found == pytest.approx(wanted.item(), rel=1e-5)
        clipped = [rpc.rpc_sync(rref.owner(), context_grad, args=(rref, context_id)) for rref in rrefs]
        assert parts.same(clipped, [parameter.grad for parameter in whole.parts.parameters()], 1e-6)
        assert clip_grad_norm_(context_id, rrefs, 1e9, norm_type) == pytest.approx(0.05, rel=1e-3)


def context_grad(rref: Any, context_id: int) -> Any:
    grad = dist_autograd.get_gradients(context_id)[rref.local_value()]
    return grad.to_dense() if grad.is_sparse else grad


def test_clipping_without_gradients_gives_zero(rpc_world) -> None:
    rref = rpc.remote(rpc_world.next_name, parts.weight)
    with dist_autograd.context() as context_id:
        rpc.rpc_sync(rref.owner(), parts.times, args=(rref, mpigrad.ones(3, requires_grad=True)))
        assert clip_grad_norm_(context_id, [rref], 1.0) == 0.0


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_clipping_of_what_is_not_finite(rpc_world, bad: float) -> None:
    rref = rpc.remote(rpc_world.next_name, parts.weight)
    with dist_autograd.context() as context_id:
        x = mpigrad.full((3,), bad)
        dist_autograd.backward(context_id, [rpc.rpc_sync(rref.owner(), parts.times, args=(rref, x)).sum()])
        with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
            clip_grad_norm_(context_id, [rref], 1.0, error_if_nonfinite=True)
        before = rpc.rpc_sync(rref.owner(), context_grad, args=(rref, context_id))
        assert not mpigrad.isfinite(mpigrad.tensor(clip_grad_norm_(context_id, [rref], 1.0)))
        after = rpc.rpc_sync(rref.owner(), context_grad, args=(rref, context_id))
        one = mpigrad.ones(3, requires_grad=True)
        one.grad = before
        nn.utils.clip_grad_norm_(one, 1.0)
        assert mpigrad.allclose(after, one.grad, equal_nan=True)
