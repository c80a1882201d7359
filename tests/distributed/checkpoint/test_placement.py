"""A checkpoint on other workers than it was saved on: parts move, tensors are cut in other ways, optimizers follow."""

from __future__ import annotations

import base64
import io
import tarfile
import zlib
from pathlib import Path
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed import checkpoint
from mpigrad.distributed.checkpoint import CheckpointError, Sharded
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer, DistributedScheduler
from mpigrad.optim.lr_scheduler import StepLR

pytestmark = pytest.mark.mpi(min_size=2)


def values(module: Any) -> list[list[float]]:
    return [each.flatten().tolist() for each in module.state_dict().values()]


def remote(worker: str, *args: Any) -> RemoteModule:
    return RemoteModule(worker, nn.Linear, args=args)


class Network:
    """Two layers, each on a worker, and one optimizer over both."""

    def __init__(self, first: str, second: str, lr: float = 0.1) -> None:
        self.layers = [remote(first, 2, 3), remote(second, 3, 1)]
        rrefs = [each for layer in self.layers for each in layer.remote_parameters()]
        self.optimizer = DistributedOptimizer(optim.Adam, rrefs, lr=lr)
        self.scheduler = DistributedScheduler(StepLR, self.optimizer, step_size=2)

    def parts(self) -> dict[str, Any]:
        return {"a": self.layers[0], "b": self.layers[1], "adam": self.optimizer, "steps": self.scheduler}

    def train(self, steps: int) -> list[float]:
        losses = []
        for step in range(steps):
            with dist_autograd.context() as context_id:
                loss = (self.layers[1](self.layers[0](mpigrad.full((4, 2), step + 1.0))) - 1).pow(2).sum()
                dist_autograd.backward(context_id, [loss])
                self.optimizer.step(context_id)
            self.scheduler.step()
            losses.append(loss.item())
        return losses


PLACEMENTS = [("worker0", "worker0"), ("worker0", "worker1"), ("worker1", "worker0"), ("worker1", "worker1")]


@pytest.mark.parametrize("there", PLACEMENTS)
def test_training_goes_on_with_another_placement(rpc_world, tmp_path: Path, there: tuple[str, str]) -> None:
    if rpc_world.rank:
        return
    first = Network("worker0", "worker1")
    first.train(3)
    checkpoint.save(tmp_path, first.parts(), extra=3)
    wanted = first.train(3)
    second = Network(*there, lr=9.0)
    assert checkpoint.load(tmp_path, second.parts()) == 3
    assert second.train(3) == wanted


def test_parts_become_one_model_and_one_model_becomes_parts(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    split = {"first": remote("worker1", 2, 3), "second.0": nn.Linear(3, 1)}
    checkpoint.save(tmp_path / "split", split)
    whole = nn.Module()
    whole.first, whole.second = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 1))
    checkpoint.load(tmp_path / "split", {"": whole})
    assert values(whole) == values(split["first"]) + values(split["second.0"])
    checkpoint.save(tmp_path / "whole", {"": nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))})
    layers = [nn.Linear(2, 3), remote("worker1", 3, 1)]
    checkpoint.load(tmp_path / "whole", dict(zip("01", layers)))
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    checkpoint.load(tmp_path / "whole", {"": model})
    assert values(layers[0]) + values(layers[1]) == values(model)


def test_an_optimizer_moves_only_with_the_modules_that_it_steps(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    layer = nn.Linear(1, 1)
    checkpoint.save(tmp_path, {"adam": DistributedOptimizer(optim.Adam, [rpc.RRef(each) for each in layer.parameters()])})
    checkpoint.load(tmp_path, {"adam": DistributedOptimizer(optim.Adam, [rpc.RRef(each) for each in layer.parameters()])})
    there = remote("worker1", 1, 1)
    with pytest.raises(CheckpointError, match=r"'adam' was saved on \['worker0'\], and here it is on worker1 .* save and load"):
        checkpoint.load(tmp_path, {"adam": DistributedOptimizer(optim.Adam, there.remote_parameters())})


def test_parameters_of_one_group_need_the_same_settings(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    layer = nn.Linear(1, 1)
    two = optim.SGD([{"params": [layer.weight], "lr": 1.0}, {"params": [layer.bias], "lr": 2.0}])
    checkpoint.save(tmp_path, {"layer": layer, "sgd": two})
    turned = optim.SGD([{"params": [layer.bias]}, {"params": [layer.weight]}], lr=3.0)
    checkpoint.load(tmp_path, {"layer": layer, "sgd": turned})
    assert [group["lr"] for group in turned.param_groups] == [2.0, 1.0], "found by name, not by position"
    with pytest.raises(CheckpointError, match=r"layer\.weight and layer\.bias in one group here; .* different settings"):
        checkpoint.load(tmp_path, {"layer": layer, "sgd": optim.SGD(layer.parameters(), lr=3.0)})


# -- tensors in slices ------------------------------------------------------------------------------------------------
class Table(nn.Module):
    """Rows from `first` to `last` of a table in which each element is its number, with momentum that says the same."""

    def __init__(self, first: int, last: int, filled: bool = True) -> None:
        super().__init__()
        numbers = mpigrad.arange(2.0 * first, 2.0 * last).reshape(last - first, 2) if filled else mpigrad.zeros(last - first, 2)
        self.rows, self.all = nn.Parameter(numbers), nn.Parameter(mpigrad.ones(1) * filled)
        self.register_buffer("seen", mpigrad.tensor(7.0 * filled))

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(each) for each in self.parameters()]


def momentum(share: Any) -> list[tuple[Any, Any]]:
    """Runs on a worker: its parameters, each with its momentum."""
    optimizer = share.local_value().optim
    return [(each.tolist(), optimizer.state[each]["momentum_buffer"].tolist()) for each in optimizer.param_groups[0]["params"]]


def set_momentum(share: Any) -> None:
    """Runs on a worker: have each element's momentum be its value."""
    optimizer = share.local_value().optim
    for parameter in optimizer.param_groups[0]["params"]:
        optimizer.state[parameter] = {"momentum_buffer": parameter.detach().clone()}


class Tables:
    """A table cut at some rows, on the workers in turn, and an optimizer."""

    def __init__(self, cuts: list[int], filled: bool = True) -> None:
        bounds = list(zip([0, *cuts], [*cuts, 6]))
        self.shares = [rpc.remote(f"worker{i % 2}", Table, args=(*each, filled)) for i, each in enumerate(bounds)]
        rrefs = [each for share in self.shares for each in share.rpc_sync().rrefs()]
        self.optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=0.1, momentum=0.9)

    def parts(self) -> dict[str, Any]:
        return {"table": Sharded(self.shares, {"rows": 0}), "sgd": self.optimizer}

    def rows(self) -> list[list[float]]:
        return [row for share in self.shares for row in share.to_here().rows.tolist()]


ROWS = mpigrad.arange(12.0).reshape(6, 2).tolist()


@pytest.mark.parametrize("before", [[], [3], [1, 2, 5]])
@pytest.mark.parametrize("after", [[], [2], [2, 3], [1, 2, 3, 4, 5], [0, 6]])
def test_a_table_is_cut_in_other_ways(rpc_world, tmp_path: Path, before: list[int], after: list[int]) -> None:
    if rpc_world.rank:
        return
    first = Tables(before)
    for each in first.optimizer.remote_optimizers:
        rpc.rpc_sync(each.owner(), set_momentum, args=(each,))
    checkpoint.save(tmp_path, first.parts())
    second = Tables(after, filled=False)
    checkpoint.load(tmp_path, second.parts())
    assert second.rows() == ROWS
    assert all(share.to_here().seen.item() == 7 and share.to_here().all.tolist() == [1] for share in second.shares)
    found = [pair for each in second.optimizer.remote_optimizers for pair in rpc.rpc_sync(each.owner(), momentum, args=(each,))]
    assert all(value == moment for value, moment in found) and len(found) == 2 * len(second.shares)


def test_a_table_of_another_length_is_refused(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    checkpoint.save(tmp_path, Tables([2]).parts())
    with pytest.raises(CheckpointError, match=r"size mismatch for table\.rows: .* make 6 along dimension 0, the shares of .* 5"):
        checkpoint.load(tmp_path, {"table": Sharded([Table(0, 2), Table(0, 3)], {"rows": 0})})
    whole = Table(0, 6, filled=False)
    checkpoint.load(tmp_path, {"table": whole})
    assert whole.rows.tolist() == ROWS
    with pytest.raises(ValueError, match="at least one share"):
        Sharded([])


def test_linear_layers_can_be_cut_along_either_dimension(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    layer = nn.Linear(4, 6)
    checkpoint.save(tmp_path, {"layer": layer})
    columns = [nn.Linear(4, 2), nn.Linear(4, 4)]
    checkpoint.load(tmp_path, {"layer": Sharded(columns)})
    assert mpigrad.cat([each.weight for each in columns]).tolist() == layer.weight.tolist()
    assert mpigrad.cat([each.bias for each in columns]).tolist() == layer.bias.tolist()
    checkpoint.save(tmp_path, {"layer": Sharded(columns)})
    rows = [nn.Linear(1, 6), nn.Linear(3, 6)]
    checkpoint.load(tmp_path, {"layer": Sharded(rows, {"weight": 1})})
    assert mpigrad.cat([each.weight for each in rows], 1).tolist() == layer.weight.tolist()
    assert rows[0].bias.tolist() == rows[1].bias.tolist() == layer.bias.tolist()


def test_tensors_without_the_dimension_are_not_cut(rpc_world, tmp_path: Path) -> None:
    """Counted from the end, too: a scalar has no last dimension."""
    if rpc_world.rank:
        return
    norms = [nn.BatchNorm1d(2), nn.BatchNorm1d(3)]
    for place, each in enumerate(norms):
        each.running_mean.fill_(place)
    checkpoint.save(tmp_path, {"norm": Sharded(norms, -1)})
    whole = nn.BatchNorm1d(5)
    checkpoint.load(tmp_path, {"norm": whole})
    assert whole.running_mean.tolist() == [0, 0, 1, 1, 1] and whole.num_batches_tracked.item() == 0


# A checkpoint of version 0.1, in a compressed archive: nn.Linear(2, 1) after one step of SGD with momentum, on worker0.
CHECKPOINT_OF_0_1 = (
    "eNrtls1u00AQgJ00bZNSwYUjhyinIEGw81sQUkCqVCGLv4orijb2Jja1vdbuum1AkXpppUp7Y+GExEvwADwAvAMPwEMwjpMWKooKJeXAfJLlnZmd3Zkd76"
    "5Z4N4y5owJdFqtyRs4+f5Ju92qN4xyy7gAEiEJhymN/xMG9Q9J5A+okLUXgkVzqn+72Ty1/vVW58f6W1a9YRplE+s/d16tlCsDxkMiK3fK1g2QXJ9TRzI+"
    "AkVFkG16c1IVq5IadxjfolyACRxnojkVy5WIhDR1m+prsUy9wNAfSZp63TbNTOFwp1EHRb211mqumY2GCerxSnmczkJ3JSezOYSkcRob2FbGBvL39/93RZ"
    "7LXfDb579lWp0Onv//ov7HO/fCzn+rbTZP1L9uNdp4/l8ED5882Ni8v55j+UwuTPVF49fyh7fv3u8V3rhTt7GuqsWAjCjX6pLDggCuEJ9FAqTH3KWcuuu+"
    "I/VrfX0Tei7tUH/oSa2uhbE/5MSt9VgsapJGgvFa7DtbgR8NtVrmtJ/4gQt+VXXlqG/WT6ulZ1kDrLahFu4OmtrO2fkDfSj1U1Blgl20Cwc6M8OUC06c6M"
    "MxNDe1KvR9IrRXqnqrVTs3G2L/eIB9bRf2j5y9q1PHZKxVqRdSSVwiifYKkJYyNGiXt+F6hMxhGCFEX5VYLP3QfwkLM1kj+NokTZs2rBnkxEIaySTs9ZPB"
    "APpMQ8mfMZujgISdG2uvNnVfOHsmIlGrMeEk7A05S2Khn0/izAdcb3S/ZMVVxVmYoPv6KeWzKrkkjGmU1gkWfzWraM+lDhmlimIEP5SUs219CO5kd7IG0F"
    "6Gnw1KHE8/UpddP80ZBvZJP0iNi4NEUBdMS5OQ0mAmsdOEJEnttE+4axgfu3++A8r3zreD9rrZcx5/BEEQBEEQBEEQBEEQBEEQBEEQBPk7fANUdGU+"
)


def test_checkpoints_of_the_first_version_can_be_read(rpc_world, tmp_path: Path) -> None:
    if rpc_world.rank:
        return
    with tarfile.open(fileobj=io.BytesIO(zlib.decompress(base64.b64decode(CHECKPOINT_OF_0_1)))) as archive:
        archive.extractall(tmp_path, filter="data")
    layer = nn.Linear(2, 1)
    sgd = DistributedOptimizer(optim.SGD, [rpc.RRef(each) for each in layer.parameters()], lr=9.0)
    assert checkpoint.load(tmp_path / "old", {"layer": layer, "optimizer": sgd}) == {"step": 1}
    assert values(layer) == [[0.5, 1.5], [2.5]]
    group = sgd.remote_optimizers[0].local_value().optim.param_groups[0]
    assert (group["lr"], group["momentum"]) == (0.5, 0.9)
    there = remote("worker1", 2, 1)
    checkpoint.load(tmp_path / "old", {"layer": there})
    assert values(there) == values(layer)
