"""Checkpoints in the memory of workers: training goes on from them, also when a worker has lost its memory."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed import checkpoint
from mpigrad.distributed.checkpoint import CheckpointError
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer
from tests.support.in_memory import acting_as, world_in_memory


class Fragile(nn.Linear):
    """Its state cannot be copied while `broken`."""

    broken = False

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        if Fragile.broken:
            raise OSError("no memory")
        return super().state_dict(*args, **kwargs)


class Training:
    """A network of three layers, on worker0, worker1 and worker2, and its optimizer."""

    def __init__(self, seed: int) -> None:
        mpigrad.manual_seed(seed)
        second, third = RemoteModule("worker1", Fragile, (4, 4)), rpc.remote("worker2", nn.Linear, (4, 1))
        self.layers: list[Any] = [nn.Linear(4, 4), second, third]
        self.use()

    def use(self) -> None:
        first, second, third = self.layers
        remote = [*second.remote_parameters(), *rpc.rpc_sync("worker2", parameters, args=(third,))]
        own = [rpc.RRef(each) for each in first.parameters()]
        self.optimizer = DistributedOptimizer(optim.SGD, [*own, *remote], lr=0.1, momentum=0.9)

    def parts(self) -> dict[str, Any]:
        return dict(zip(("first", "second", "third"), self.layers)) | {"optimizer": self.optimizer}

    def train(self, steps: range) -> list[float]:
        return [self.step(step) for step in steps]

    def step(self, step: int) -> float:
        first, second, third = self.layers
        with dist_autograd.context() as context_id:
            x = mpigrad.full((2, 4), step / 10.0)
            loss = third.rpc_sync().forward(second.forward(mpigrad.tanh(first(x)))).square().mean()
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


def parameters(module: Any) -> list[Any]:
    return [rpc.RRef(each) for each in module.local_value().parameters()]


def test_training_goes_on_from_the_last_copies() -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        training, buddies = Training(0), checkpoint.Buddies()
        training.train(range(3))
        buddies.save(training.parts(), extra={"step": 3})
        expected = training.train(range(3, 6))
        for _ in range(2):  # a load does not change the copies
            assert buddies.load(training.parts()) == {"step": 3}
            assert training.train(range(3, 6)) == expected


@pytest.mark.parametrize("lost", [1, 2])
def test_a_worker_without_memory_gets_its_share_from_its_buddy(lost: int) -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        training, buddies = Training(0), checkpoint.Buddies()
        training.train(range(2))
        buddies.save(training.parts(), extra=2)
        expected = training.train(range(2, 6))
        agents[lost].slots.pop("buddies")
        other = Training(1)  # a new process has other parameters
        training.layers[lost] = other.layers[lost]
        training.use()
        assert checkpoint.Buddies().load(training.parts()) == 2, "any worker that knows the name can load"
        assert training.train(range(2, 6)) == expected
        buddies.save(training.parts(), extra=6)
        for agent in agents:
            assert {version for version, _ in agent.slots["buddies"]["buddies"].shares} == {2}, "older versions are dropped"


def test_lost_copies_are_named() -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        training, buddies = Training(0), checkpoint.Buddies("mine")
        with pytest.raises(CheckpointError, match="no worker has copies of 'mine'"):
            buddies.load(training.parts())
        buddies.save(training.parts())
        for agent in agents[1:]:
            agent.slots.pop("buddies")
        with pytest.raises(CheckpointError, match="the share of worker1 is lost.*worker2 no longer has it"):
            buddies.load(training.parts())


def test_a_failed_save_leaves_the_previous_copies() -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        training, buddies = Training(0), checkpoint.Buddies()
        buddies.save(training.parts(), extra=0)
        expected = training.train(range(3))
        Fragile.broken = True
        try:
            with pytest.raises(OSError, match="no memory"):
                buddies.save(training.parts(), extra=3)
        finally:
            Fragile.broken = False
        assert buddies.load(training.parts()) == 0
        assert training.train(range(3)) == expected
        buddies.save(training.parts(), extra=3)
        assert buddies.load(training.parts()) == 3


def test_states_that_do_not_fit_change_nothing() -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        training, buddies = Training(0), checkpoint.Buddies()
        buddies.save(training.parts())
        training.train(range(3))
        before = training.layers[0].weight.clone()
        training.layers[2] = rpc.remote("worker2", nn.Linear, (5, 5))
        with pytest.raises(RuntimeError, match="size mismatch"):
            buddies.load(training.parts())
        assert (training.layers[0].weight == before).all()
