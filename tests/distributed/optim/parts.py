"""Parameters and optimizers that the tests put on workers, and the same network in one process."""

from __future__ import annotations

from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim


class Part(nn.Module):
    """A layer with weights that its place decides."""

    def __init__(self, place: int, sparse: bool = False) -> None:
        super().__init__()
        self.layer: Any = nn.Embedding(6, 4, sparse=True) if sparse else nn.Linear(4, 4)
        # the worker's own generator is shared by all its threads
        random = mpigrad.Generator(mpigrad.get_default_device()).manual_seed(place)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5, generator=random)

    def forward(self, x: Any) -> Any:
        return self.layer(x).tanh()

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(parameter) for parameter in self.parameters()]

    def values(self) -> list[Any]:
        return [parameter.detach().clone() for parameter in self.parameters()]

    def grads(self) -> list[Any]:
        return [parameter.grad for parameter in self.parameters()]


class Split:
    """Parts on the workers 1, 2, ..., called one after the other."""

    def __init__(self, world: Any, sparse: bool = False) -> None:
        owners = range(1, world.world_size)
        self.parts = [rpc.remote(world.worker(owner), Part, args=(owner, sparse and owner == 1)) for owner in owners]

    def rrefs(self) -> list[Any]:
        return [rref for part in self.parts for rref in part.rpc_sync().rrefs()]

    def values(self) -> list[Any]:
        return [value for part in self.parts for value in part.rpc_sync().values()]

    def loss(self, x: Any) -> Any:
        for part in self.parts:
            x = part.rpc_sync().forward(x)
        return (x - 0.3).pow(2).sum()

    def step(self, optimizer: Any, x: Any) -> float:
        with dist_autograd.context() as context_id:
            loss = self.loss(x)
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)
        return loss.item()


class Whole:
    """The same parts here."""

    def __init__(self, world: Any, sparse: bool = False) -> None:
        self.parts = nn.Sequential(*(Part(owner, sparse and owner == 1) for owner in range(1, world.world_size)))

    def values(self) -> list[Any]:
        return [value for part in self.parts for value in part.values()]

    def loss(self, x: Any) -> Any:
        return (self.parts(x) - 0.3).pow(2).sum()

    def step(self, optimizer: Any, x: Any) -> float:
        optimizer.zero_grad()
        loss = self.loss(x)
        loss.backward()
        optimizer.step()
        return loss.item()


def inputs(count: int, sparse: bool = False) -> list[Any]:
    mpigrad.manual_seed(99)
    return [mpigrad.randint(0, 6, (5,)) if sparse else mpigrad.randn(5, 4) for _ in range(count)]


def same(found: list[Any], wanted: list[Any], tolerance: float = 0.0) -> bool:
    return len(found) == len(wanted) and all(
        mpigrad.allclose(a, b, rtol=tolerance, atol=tolerance) for a, b in zip(found, wanted)
    )


class FailsToStart(optim.Optimizer):
    def __init__(self, params: Any) -> None:
        super().__init__(params, {})
        raise KeyError(f"no optimizer on {rpc.get_worker_info().name}")


class FailsToStep(optim.SGD):
    """Fails on the workers named; the others step."""

    def __init__(self, params: Any, where: list[str]) -> None:
        super().__init__(params, lr=0.1)
        self.where = where

    def step(self, closure: Any = None) -> Any:
        if rpc.get_worker_info().name in self.where:
            raise ArithmeticError(f"no step on {rpc.get_worker_info().name}")
        return super().step(closure)


def weight() -> Any:
    return mpigrad.ones(3, requires_grad=True)


def times(weight_rref: Any, x: Any) -> Any:
    return weight_rref.local_value() * x


def train_weight(weight_rref: Any, optimizer_class: Any, steps: int) -> None:
    """A trainer: its gradient is 1 at every step."""
    from mpigrad.distributed.optim import DistributedOptimizer

    optimizer = DistributedOptimizer(optimizer_class, [weight_rref], lr=1.0)
    for _ in range(steps):
        with dist_autograd.context() as context_id:
            loss = rpc.rpc_sync(weight_rref.owner(), times, args=(weight_rref, mpigrad.ones(3))).sum()
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)


def set_grad(weight_rref: Any) -> None:
    weight_rref.local_value().grad = mpigrad.full((3,), 7.0)


def get_grad(weight_rref: Any) -> Any:
    return weight_rref.local_value().grad
