"""Modules that the tests put on workers."""

from __future__ import annotations

from typing import Any

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad.distributed.nn import RemoteModule


def generator(seed: int) -> mpigrad.Generator:
    return mpigrad.Generator(mpigrad.get_default_device()).manual_seed(seed)


def on(worker: str) -> str:
    """The place of a module on a worker that is on the device of the tests."""
    place = mpigrad.get_default_device()
    return worker if place.type == "cpu" else f"{worker}/{place}"


class Net(nn.Module):
    def __init__(self, wide: int = 3, seed: int = 0) -> None:
        super().__init__()
        self.linear = nn.Linear(2, wide)
        self.norm = nn.BatchNorm1d(wide)
        self.scale = nn.Parameter(mpigrad.ones(1))
        random = generator(seed)  # the worker's own one is shared by all its threads
        nn.init.uniform_(self.linear.weight, -0.5, 0.5, generator=random)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Any, times: float = 1.0) -> Any:
        return self.norm(self.linear(x)) * self.scale * times


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        raise KeyError("no such layer")


def not_a_module() -> int:
    return 3


class Structured(nn.Module):
    """Takes and gives more than tensors."""

    def forward(self, x: Any, others: list[Any], *, named: dict[str, Any]) -> Any:
        return {"sum": x + sum(others) + named["y"], "kept": (x, "text")}


class Outer(nn.Module):
    """A module here with one of its parts elsewhere."""

    def __init__(self, where: str, seed: int = 0) -> None:
        super().__init__()
        self.far = RemoteModule(on(where), Net, kwargs={"seed": seed})
        self.near = nn.Linear(3, 1)

    def forward(self, x: Any) -> Any:
        return self.near(self.far(x))


def training(module: Any) -> bool:
    return module.local_value().training


def call(remote: RemoteModule, x: Any) -> Any:
    return remote(x)


def seen(remote: RemoteModule) -> tuple[Any, ...]:
    return type(remote).__name__, remote.on, remote.device, remote.training, hasattr(remote, "note")


def same_module(one: RemoteModule, other: RemoteModule) -> bool:
    """Runs on the owner."""
    return one.get_module_rref().local_value() is other.get_module_rref().local_value()


def hand_over() -> RemoteModule:
    """A RemoteModule as a result."""
    return RemoteModule(on(rpc.get_worker_info().name), Net)


def inputs() -> Any:
    return mpigrad.randn(4, 2, generator=generator(5))
