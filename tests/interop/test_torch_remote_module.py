"""RemoteModule with modules of torch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from mpigrad.distributed.nn import RemoteModule
from tests.support.in_memory import acting_as, world_in_memory


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        yield


def test_a_module_of_torch_is_called_like_a_local_one() -> None:
    layer = RemoteModule("worker1/cpu", torch.nn.Linear, args=(3, 2))
    weight, bias = (rref.to_here() for rref in layer.remote_parameters())
    x = torch.linspace(0, 1, 12).view(4, 3)
    assert torch.allclose(layer(x), x @ weight.t() + bias)
    assert torch.allclose(layer.forward_async(x).wait(), x @ weight.t() + bias)


def test_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="returns an instance of <class nn.Module>"):
        RemoteModule("worker1/cpu", torch.zeros, args=(3,))
