"""Holds are counted in a tree: passes over more workers than one counts alone, with failures and lost workers on the way."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from benchmarks.scaling.programs import Recorded, below
from mpigrad._core.autograd import holds
from mpigrad.testing.simulation import Simulation

SIZE = 40


class Fails(mpigrad.autograd.Function):
    """The identity, whose derivative fails."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise KeyError("no derivative")


def failing(low: int, high: int, x: mpigrad.Tensor) -> mpigrad.Tensor:
    return Fails.apply(below(low, high, x))


def assert_nothing_left(world: Simulation, lost: int = -1) -> None:
    for agent in world.agents:
        if agent.rank != lost:
            worker = agent.autograd
            assert not worker.relays and not worker.live and not worker.initiated, agent.info
            assert not any(context.joined for context in worker.container.contexts.values())


def loss_of(function: Any, start: int) -> mpigrad.Tensor:
    """Two calls whose gradients meet on worker0, the second of them a tree of nested calls."""
    x = mpigrad.ones(2, requires_grad=True)
    y = x * 2
    one = rpc.rpc_sync(start - 1, below, args=(start - 1, start, y))
    return (one + rpc.rpc_sync(start, function, args=(start, SIZE, y))).sum()


@pytest.mark.parametrize("fan_out", [1, 2, 3, 16])
def test_gradients(fan_out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "FAN_OUT", fan_out)
    recorded = Recorded(SIZE, grouped=False)
    with Simulation(SIZE) as world:
        world.on(7, recorded.forward)  # not rank 0: the tree begins at the initiator
        world.on(7, recorded.backward)
        assert_nothing_left(world)
        world.on(7, recorded.release)


@pytest.mark.parametrize("fan_out", [1, 3, 16])
def test_a_failure_below_ends_the_pass_everywhere(fan_out: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "FAN_OUT", fan_out)

    def program() -> None:
        with dist_autograd.context() as context:
            with pytest.raises(KeyError, match="no derivative"):
                dist_autograd.backward(context, [loss_of(failing, 3)])

    with Simulation(SIZE) as world:
        world.on(0, program)
        assert_nothing_left(world)


@pytest.mark.parametrize("lost", [2, 19, 25, 39])
@pytest.mark.parametrize("fan_out", [1, 3, 16])
def test_a_worker_is_lost_during_the_pass(fan_out: int, lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holds, "FAN_OUT", fan_out)

    def learn(_: None) -> None:
        rpc.api._get_current_rpc_agent().lose(lost, f"worker{lost} has left")

    def program() -> None:
        with dist_autograd.context() as context:
            loss = loss_of(below, 2)
            world.lose(lost)
            for agent in world.agents:
                if agent.rank != lost:
                    world.scheduler.at(world.scheduler.clocks[0] + 5.0, agent.rank, learn, None)
            with pytest.raises(RuntimeError, match=f"worker{lost}"):
                dist_autograd.backward(context, [loss])

    with Simulation(SIZE, rpc_timeout=60.0) as world:
        world.on(0, program)
        assert 5.0 <= world.phases[-1].seconds < 60.0, "found by the event, not by a timeout"
        assert_nothing_left(world, lost)


def test_parents() -> None:
    with Simulation(SIZE) as world:
        seven = 7 << holds.RANK_SHIFT
        parents = {agent.rank: holds.parent_of(agent.autograd, seven) for agent in world.agents if agent.rank != 7}
        assert [rank for rank, parent in parents.items() if parent == 7] == list(range(8, 24))
        assert parents[24] == parents[39] == 8 and parents[0] == 9
        world.agents[24].gone[8] = "left"
        assert holds.parent_of(world.agents[24].autograd, seven) == 7
        world.agents[24].gone.clear()
