"""Remote modules, optimizers and pipelines on GPUs of other workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
from mpigrad import nn
from mpigrad._array.device import host
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.testing import World

pytestmark = pytest.mark.mpi(min_size=2)


class Scale(nn.Module):
    """x * weight, element by element."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(mpigrad.full((3,), value))

    def forward(self, x: mpigrad.Tensor) -> mpigrad.Tensor:
        assert x.device == self.weight.device
        return x * self.weight


def values(tensor: mpigrad.Tensor) -> list[float]:
    return host(tensor._array).tolist()


@pytest.mark.parametrize("place", ["cuda:0", "cuda:1"])
def test_a_remote_module_without_maps_takes_and_gives_tensors_of_the_host(start: Any, place: str) -> None:
    world = start()
    module = RemoteModule(f"{world.next_name}/{place}", Scale, args=(2.0,))
    got = module(mpigrad.tensor([1.0, 2.0, 3.0]))
    assert got.device == mpigrad.device("cpu") and values(got) == [2, 4, 6]
    assert values(module.forward_async(mpigrad.ones(3)).wait()) == [2, 2, 2]


def test_with_a_map_results_stay_on_gpus(start: Any) -> None:
    world = start({1: 0})
    module = RemoteModule(f"{world.next_name}/cuda:0", Scale, args=(2.0,))
    got = module(mpigrad.tensor([1.0, 2.0, 3.0], device="cuda:1"))
    assert got.device == mpigrad.device("cuda:1") and values(got) == [2, 4, 6]


@pytest.mark.parametrize("mapped", [False, True])
def test_training_a_remote_module(start: Any, mapped: bool) -> None:
    """The same steps as on one CPU."""
    world: World = start({1: 0} if mapped else None)
    x = mpigrad.tensor([1.0, 2.0, 3.0])
    module = RemoteModule(f"{world.next_name}/cuda:0", Scale, args=(2.0,))
    optimizer = DistributedOptimizer(mpigrad.optim.SGD, module.remote_parameters(), lr=0.01)
    plain = Scale(2.0)
    local = mpigrad.optim.SGD(plain.parameters(), lr=0.01)
    for _ in range(3):
        with dist_autograd.context() as context_id:
            loss = (module(x.to("cuda:1") if mapped else x) ** 2).sum()
            dist_autograd.backward(context_id, [loss])
            optimizer.step(context_id)
        local.zero_grad()
        (plain(x) ** 2).sum().backward()
        local.step()
    got = module(x.to("cuda:1") if mapped else x).cpu()
    np.testing.assert_allclose(values(got), values(plain(x)), rtol=1e-6)
