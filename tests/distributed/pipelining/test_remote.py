"""Pipelines on RPC workers: losses and gradients of one process, errors that end the step on all workers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad import nn
from mpigrad.distributed.pipelining import RemotePipeline, Schedule1F1B, ScheduleGPipe
from mpigrad.distributed.pipelining.remote import Mail
from mpigrad.nn import functional as F

ROWS, CHUNKS = 12, 4


def make_stage(index: int) -> nn.Sequential:
    mpigrad.manual_seed(index)
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh())


def gradients(module: nn.Module) -> list[np.ndarray]:
    return [each.grad.numpy() for each in module.parameters()]


def descend(module: nn.Module, rate: float) -> None:
    with mpigrad.no_grad():
        for each in module.parameters():
            each.sub_(each.grad * rate)
            each.grad = None


class Broken(nn.Module):
    def forward(self, x: Any) -> Any:
        raise ArithmeticError("no such stage")


def _data() -> tuple[mpigrad.Tensor, mpigrad.Tensor]:
    random = np.random.default_rng(0)
    return tuple(mpigrad.tensor(random.normal(size=(ROWS, 3)), dtype=mpigrad.float32) for _ in range(2))  # type: ignore[return-value]


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
@pytest.mark.parametrize("schedule", [ScheduleGPipe, Schedule1F1B])
def test_losses_and_gradients_of_one_process(rpc_world, schedule) -> None:
    if rpc_world.rank:
        return
    size = rpc_world.world_size
    stages = [(rpc_world.worker(rank), make_stage, (rank,)) for rank in range(size)]
    pipeline = RemotePipeline(stages, CHUNKS, F.mse_loss, schedule)
    alone = nn.Sequential(*(make_stage(rank) for rank in range(size)))
    x, target = _data()
    for _ in range(3):
        output, losses = pipeline.step(x, target=target)
        made = alone(x)
        F.mse_loss(made, target).backward()
        assert np.allclose(output.numpy(), made.detach().numpy(), atol=1e-6)
        assert np.mean([each.item() for each in losses]) == pytest.approx(F.mse_loss(made, target).item(), rel=1e-5)
        found = [each for grads in pipeline.apply(gradients) for each in grads]
        assert all(np.allclose(one, other, atol=1e-6) for one, other in zip(found, gradients(alone), strict=True))
        pipeline.apply(descend, 0.1)
        descend(alone, 0.1)
    shown, _ = pipeline.eval(x, target=target)
    assert np.allclose(shown.numpy(), alone(x).detach().numpy(), atol=1e-6)
    pipeline.close()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
@pytest.mark.rpc(num_worker_threads=1)
def test_one_thread_is_enough(rpc_world) -> None:
    """A stage that waits for another one leaves its thread to the call that brings what it waits for."""
    if rpc_world.rank == 0:
        stages = [(rpc_world.worker(rank), make_stage, (rank,)) for rank in range(rpc_world.world_size)]
        pipeline, (x, target) = RemotePipeline(stages, CHUNKS, F.mse_loss, timeout=15.0), _data()
        assert pipeline.step(x, target=target)[0].shape == x.shape
        pipeline.close()


def test_mail_of_a_failed_step_is_dropped() -> None:
    mail, soon = Mail(), time.monotonic() + 0.01
    mail.begin(1)
    mail.put((1, 0, 0, 0), [mpigrad.ones(1)])
    mail.put((2, 0, 0, 0), [mpigrad.zeros(1)])  # another worker is ahead
    mail.begin(2)
    mail.put((1, 0, 0, 1), [mpigrad.ones(1)])
    mail.fail(1, "an old error")
    (found,) = mail.take((2, 0, 0, 0), soon)
    assert found.item() == 0
    with pytest.raises(RuntimeError, match="stage 0 did not get micro-batch 1"):
        mail.take((2, 0, 0, 1), soon)
    mail.fail(2, "a stage failed")
    with pytest.raises(RuntimeError, match="a stage failed"):
        mail.take((2, 0, 0, 1), soon)
    mail.begin(3)
    assert mail._arrived == {}


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_an_error_of_a_stage_ends_the_step(rpc_world) -> None:
    if rpc_world.rank:
        return
    size = rpc_world.world_size
    stages: list[Any] = [(rpc_world.worker(rank), make_stage, (rank,)) for rank in range(size)]
    broken = [*stages[:-1], (rpc_world.worker(size - 1), Broken, ())]
    pipeline, x = RemotePipeline(broken, CHUNKS, F.mse_loss), _data()[0]
    with pytest.raises(ArithmeticError, match="no such stage"):
        pipeline.step(x, target=x)
    pipeline.close()
    again = RemotePipeline(stages, CHUNKS, F.mse_loss)
    assert again.step(x, target=x)[0].shape == x.shape
    again.close()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_two_stages_need_two_workers(rpc_world) -> None:
    if rpc_world.rank == 0:
        with pytest.raises(ValueError, match="different workers"):
            RemotePipeline([("worker1", make_stage, (0,)), ("worker1", make_stage, (1,))], 2)
