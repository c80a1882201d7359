"""Torch's optimizers, schedules and clipping across workers: the trajectory is that of one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import optim
from mpigrad.distributed import checkpoint
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer, DistributedScheduler, clip_grad_norm_
from tests.support.in_memory import acting_as, world_in_memory

OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "Rprop", "Adafactor")
X = torch.linspace(-1, 1, 12).view(4, 3)


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        yield


def layer(seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())


class Split:
    """Two layers on two workers."""

    def __init__(self, optimizer: Any, **settings: Any) -> None:
        self.layers = [RemoteModule(f"worker{seed}/cpu", layer, args=(seed,)) for seed in (1, 2)]
        self.rrefs = [rref for each in self.layers for rref in each.remote_parameters()]
        self.optimizer = DistributedOptimizer(optimizer, self.rrefs, **settings)

    def step(self, clip: float | None = None) -> float:
        with dist_autograd.context() as context_id:
            loss = (self.layers[1](self.layers[0](X)) ** 2).sum()
            dist_autograd.backward(context_id, [loss])
            if clip is not None:
                clip_grad_norm_(context_id, self.rrefs, clip)
            self.optimizer.step(context_id)
        return loss.item()

    def values(self) -> list[Any]:
        return [rref.to_here().detach() for rref in self.rrefs]


class Whole:
    """The same in one process."""

    def __init__(self, optimizer: Any, **settings: Any) -> None:
        self.layers = torch.nn.Sequential(layer(1), layer(2))
        self.optimizer = optimizer(self.layers.parameters(), **settings)

    def step(self, clip: float | None = None) -> float:
        self.optimizer.zero_grad()
        loss = (self.layers(X) ** 2).sum()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(self.layers.parameters(), clip)
        self.optimizer.step()
        return loss.item()

    def values(self) -> list[Any]:
        return [each.detach() for each in self.layers.parameters()]


def same(found: Any, wanted: Any) -> bool:
    return all(torch.allclose(one, other, atol=1e-6) for one, other in zip(found.values(), wanted.values(), strict=True))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer(name: str) -> None:
    split, whole = (kind(getattr(torch.optim, name), lr=0.05) for kind in (Split, Whole))
    for _ in range(3):
        assert split.step() == pytest.approx(whole.step(), rel=1e-5)
    assert same(split, whole)
    assert all(rref.to_here().grad is None for rref in split.rrefs)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "foreach": True}),
        ("Adam", {"amsgrad": True, "maximize": True, "foreach": True}),
        ("AdamW", {"fused": True, "betas": (0.5, 0.9)}),
        ("RMSprop", {"centered": True, "momentum": 0.5}),
    ],
)
def test_options_of_optimizers(name: str, settings: dict[str, Any]) -> None:
    split, whole = (kind(getattr(torch.optim, name), lr=0.05, **settings) for kind in (Split, Whole))
    for _ in range(3):
        assert split.step() == pytest.approx(whole.step(), rel=1e-5)
    assert same(split, whole)


def test_optimizers_that_need_a_closure_are_refused() -> None:
    with pytest.raises((TypeError, RuntimeError), match="closure"):
        Split(torch.optim.LBFGS).step()


def test_schedules_and_clipping() -> None:
    split, whole = Split(torch.optim.SGD, lr=0.5, momentum=0.9), Whole(torch.optim.SGD, lr=0.5, momentum=0.9)
    schedules = (
        DistributedScheduler(torch.optim.lr_scheduler.StepLR, split.optimizer, step_size=2, gamma=0.1),
        torch.optim.lr_scheduler.StepLR(whole.optimizer, step_size=2, gamma=0.1),
    )
    for _ in range(4):
        assert split.step(clip=0.3) == pytest.approx(whole.step(clip=0.3), rel=1e-5)
        for each in schedules:
            each.step()
    assert same(split, whole)
    assert schedules[0].get_last_lr() == dict.fromkeys(("worker1", "worker2"), pytest.approx(schedules[1].get_last_lr()))


def table() -> Any:
    return torch.nn.Embedding.from_pretrained(torch.ones(5, 2), freeze=False, sparse=True)


@pytest.mark.parametrize("name", ["SGD", "SparseAdam"])
def test_sparse_gradients(name: str) -> None:
    remote, local = RemoteModule("worker1/cpu", table), table()
    kind, ids = getattr(torch.optim, name), torch.tensor([1, 3, 1])
    optimizers = DistributedOptimizer(kind, remote.remote_parameters(), lr=0.1), kind(local.parameters(), lr=0.1)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [(remote(ids) ** 2).sum()])
        optimizers[0].step(context_id)
    (local(ids) ** 2).sum().backward()
    optimizers[1].step()
    assert torch.allclose(remote.remote_parameters()[0].to_here(), local.weight)


def test_state_moves_with_a_checkpoint(tmp_path: Path) -> None:
    first = Split(torch.optim.Adam, lr=0.05)
    first.step()
    parts = {f"layer{nr}": each for nr, each in enumerate(first.layers)}
    checkpoint.save(tmp_path, {**parts, "optimizer": first.optimizer})
    wanted = [first.step() for _ in range(2)]
    again = Split(torch.optim.Adam, lr=0.7)
    parts = {f"layer{nr}": each for nr, each in enumerate(again.layers)}
    checkpoint.load(tmp_path, {**parts, "optimizer": again.optimizer})
    assert [again.step() for _ in range(2)] == pytest.approx(wanted, rel=1e-5)


def test_optimizers_of_the_other_library_are_refused() -> None:
    with pytest.raises(TypeError, match="torch's, which torch.optim has optimizers for"):
        Split(optim.SGD, lr=0.1)



def test_grad_itself_is_neither_used_nor_changed() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.full((2,), 7.0)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync("worker1", torch.mul, args=(parameter, 3.0)).sum()])
        DistributedOptimizer(torch.optim.SGD, [rpc.RRef(parameter)], lr=1.0).step(context_id)
    assert parameter.grad.tolist() == [7, 7] and parameter.tolist() == [-2, -2]
