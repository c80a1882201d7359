"""Checkpoints of torch's modules and optimizers: loaded by torch's and by mpigrad's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed import checkpoint

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def solo() -> Iterator[None]:
    rpc.init_rpc("solo", rank=0, world_size=1)
    yield
    rpc.shutdown()


def network(library: Any) -> Any:
    layers = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.Linear(4, 2))
    return layers, library.optim.Adam(layers.parameters(), lr=0.1)


def train(library: Any, layers: Any, optimizer: Any, steps: int) -> list[float]:
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        x = library.arange(12.0).reshape(4, 3) * (step + 1) / 10
        loss = (layers(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("other", [torch, mpigrad])
@pytest.mark.parametrize("first", [torch, mpigrad])
def test_training_goes_on_in_either_library(tmp_path: Path, first: Any, other: Any) -> None:
    layers, optimizer = network(first)
    train(first, layers, optimizer, 3)
    checkpoint.save(tmp_path, {"layers": layers, "optimizer": optimizer}, extra={"step": 3})
    wanted = train(first, layers, optimizer, 3)
    again, again_optimizer = network(other)
    assert checkpoint.load(tmp_path, {"layers": again, "optimizer": again_optimizer}) == {"step": 3}
    assert isinstance(again[0].weight, other.nn.Parameter)
    assert train(other, again, again_optimizer, 3) == pytest.approx(wanted, rel=1e-4)


def test_a_module_that_does_not_fit_is_refused_before_anything_changes(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, {"layer": torch.nn.Linear(3, 2)})
    wrong, right = torch.nn.Linear(3, 5), torch.nn.Linear(3, 5, bias=False)
    before = wrong.weight.detach().clone()
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        checkpoint.load(tmp_path, {"layer": wrong})
    with pytest.raises(RuntimeError, match='Unexpected key.*"bias"'):
        checkpoint.load(tmp_path, {"layer": right})
    assert torch.equal(wrong.weight, before)
    optimizer = torch.optim.SGD(wrong.parameters(), lr=0.1)
    checkpoint.save(tmp_path, {"optimizer": optimizer})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        checkpoint.load(tmp_path, {"optimizer": torch.optim.SGD([wrong.weight], lr=0.1)})


class Average:
    """An object of the user's with torch's tensors in its state."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value, "list": [self.value, 1]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = state["value"]


def test_other_objects_get_tensors_of_the_library_that_they_had(tmp_path: Path) -> None:
    schedule = torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], lr=0.1), 2)
    parts = {"torch": Average(torch.ones(2, dtype=torch.bfloat16)), "ours": Average(mpigrad.ones(2)), "schedule": schedule}
    checkpoint.save(tmp_path, parts)
    found = {"torch": Average(None), "ours": Average(None), "schedule": schedule}
    checkpoint.load(tmp_path, found)
    assert found["torch"].value.dtype is torch.bfloat16 and found["torch"].value.tolist() == [1, 1]
    assert isinstance(found["ours"].value, mpigrad.Tensor)


def test_slices_of_torch_modules_load_into_other_numbers_of_slices(tmp_path: Path) -> None:
    shares = [torch.nn.Embedding(3, 2), torch.nn.Embedding(3, 2)]
    checkpoint.save(tmp_path, {"table": checkpoint.Sharded(shares)})
    whole = torch.nn.Embedding(6, 2)
    checkpoint.load(tmp_path, {"table": checkpoint.Sharded([whole])})
    assert torch.equal(whole.weight, torch.cat([each.weight for each in shares]))
