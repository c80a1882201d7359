"""Tensor parallelism and meshes: modules cut over ranks compute what the whole ones do, gradients included."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn
from mpigrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from mpigrad.distributed.tensor import Replicate, Shard
from mpigrad.distributed.tensor._mappings import part_of
from mpigrad.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from tests.distributed.domain.grids import shapes

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

import transformer_3d

pytestmark = [pytest.mark.mpi(min_size=1), pytest.mark.host]


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        mpigrad.manual_seed(0)
        self.table, self.columns = nn.Embedding(11, 6), nn.Embedding(11, 7)
        self.up, self.down, self.wide = nn.Linear(6, 10), nn.Linear(10, 7), nn.Linear(7, 7)
        self.double()

    def forward(self, ids):
        return self.wide(self.down(mpigrad.tanh(self.up(self.table(ids)))) + self.columns(ids))


PLAN = {
    "table": RowwiseParallel(), "columns": ColwiseParallel(output_layouts=Replicate()), "up": ColwiseParallel(),
    "down": RowwiseParallel(), "wide": ColwiseParallel(output_layouts=Replicate()),
}  # fmt: skip
CUT = {"table.weight": 0, "columns.weight": 1, "up.weight": 0, "up.bias": 0, "down.weight": 1, "wide.weight": 0, "wide.bias": 0}


def test_outputs_and_gradients_are_those_of_the_whole(group) -> None:
    whole, cut = Net(), Net()
    mesh = init_device_mesh("cpu", (group.world_size,))
    parallelize_module(cut, mesh, PLAN)
    ids = mpigrad.tensor([[0, 10, 3], [4, 4, 7]])
    wanted, found = whole(ids), cut(ids)
    assert mpigrad.allclose(found, wanted)
    (wanted**2).sum().backward()
    (found**2).sum().backward()
    grads = dict(whole.named_parameters())
    for name, parameter in cut.named_parameters():
        grad = grads[name].grad
        if name in CUT:
            start, stop = part_of(grad.shape[CUT[name]], group.world_size, group.rank)
            grad = grad.narrow(CUT[name], start, stop - start)
        assert mpigrad.allclose(parameter.grad, grad), name


@pytest.mark.parametrize("style", [RowwiseParallel, lambda: ColwiseParallel(output_layouts=Replicate())], ids=["rows", "columns"])
@pytest.mark.parametrize("options", [{"padding_idx": 5}, {"sparse": True}], ids=str)
def test_options_of_an_embedding(group, style, options) -> None:
    mpigrad.manual_seed(0)
    whole, cut = nn.Embedding(7, 7, **options), nn.Embedding(7, 7, **options)
    with mpigrad.no_grad():
        whole.weight[0] = float("inf")  # a row that is not looked up does not affect others
    cut.load_state_dict(whole.state_dict())
    parallelize_module(cut, init_device_mesh("cpu", (group.world_size,)), style())
    dim = 0 if style is RowwiseParallel else 1
    start, stop = part_of(7, group.world_size, group.rank)
    ids = mpigrad.tensor([5, 1, 5, 6])
    wanted, found = whole(ids), cut(ids)
    assert mpigrad.allclose(found, wanted)
    (wanted**2).sum().backward()
    (found**2).sum().backward()
    both = [each.grad.to_dense() if each.grad.is_sparse else each.grad for each in (whole.weight, cut.weight)]
    assert mpigrad.allclose(both[1], both[0].narrow(dim, start, stop - start))
    for wrong in (-1, 7):
        with pytest.raises(IndexError):
            cut(mpigrad.tensor([wrong]))


def test_weights_are_those_of_one_rank(group) -> None:
    mesh, last = init_device_mesh("cpu", (group.world_size,)), group.world_size - 1
    for source, value in ((0, 0.0), (last, float(last)), (None, float(group.rank))):
        layers = [nn.Linear(8, 8), nn.Linear(8, 8)]
        with mpigrad.no_grad():
            for each in (p for layer in layers for p in layer.parameters()):
                each.fill_(group.rank)
        model = parallelize_module(
            nn.Sequential(*layers), mesh, {"0": ColwiseParallel(), "[1]": RowwiseParallel()}, src_data_rank=source
        )
        assert all((each == value).all() for each in model.parameters()), source


def test_all_ranks_refuse_too_many_pieces(group) -> None:
    length = group.world_size + 1  # four ranks would have 2, 2, 1 and 0 elements
    layer, mesh = nn.Linear(length, length), init_device_mesh("cpu", (group.world_size,))
    if part_of(length, group.world_size, group.world_size - 1)[0] < length:
        parallelize_module(layer, mesh, ColwiseParallel())
    else:
        with pytest.raises(ValueError, match="cannot be cut into"):
            parallelize_module(layer, mesh, ColwiseParallel())


def test_a_wildcard_stands_for_one_name(group) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    parallelize_module(model, init_device_mesh("cpu", (group.world_size,)), {"*": ColwiseParallel(output_layouts=Replicate())})
    assert model(mpigrad.ones(1, 8)).shape == (1, 8)
    assert all(each.weight.shape[0] <= -(-8 // group.world_size) for each in model)


def test_input_that_every_rank_has_is_cut(group) -> None:
    mpigrad.manual_seed(0)
    layer = nn.Linear(7, 3).double()
    x = mpigrad.randn(2, 7, dtype=mpigrad.float64, requires_grad=True)
    wanted = layer(x)
    (grad,) = mpigrad.autograd.grad(wanted.sum(), x)
    style = RowwiseParallel(input_layouts=Replicate())
    found = parallelize_module(layer, init_device_mesh("cpu", (group.world_size,)), style)(x)
    assert mpigrad.allclose(found, wanted)
    assert mpigrad.allclose(mpigrad.autograd.grad(found.sum(), x)[0], grad)


def test_meshes(group) -> None:
    size = group.world_size
    mesh = init_device_mesh("cpu", (size, 1), mesh_dim_names=("a", "b"))
    assert mesh.get_coordinate() == [group.rank, 0] and mesh.get_local_rank("a") == group.rank
    assert mesh["b"].size() == 1 and mesh["b"].get_group().ranks == [group.rank]
    assert [each.size() for each in mesh.get_all_groups()] == [size, 1] and mesh.size() == size
    with pytest.raises(KeyError, match="Invalid mesh_dim_name 'c'"):
        mesh["c"]
    with pytest.raises(RuntimeError, match="give the index or the name of a dimension"):
        mesh.get_group()
    with pytest.raises(RuntimeError, match="the default group"):
        init_device_mesh("cpu", (size + 1,))
    with pytest.raises(RuntimeError, match="once"):
        DeviceMesh("cpu", [0, 0])


def test_wrong_plans(group) -> None:
    mesh = init_device_mesh("cpu", (group.world_size,))
    with pytest.warns(UserWarning, match=r"key 'up\.deep' could not be resolved: no submodule matching token 'deep'"):
        parallelize_module(Net(), mesh, {"up.deep": ColwiseParallel()})
    with pytest.warns(UserWarning, match="No parallelize_plan is provided"):
        parallelize_module(Net(), mesh)
    with pytest.raises(RuntimeError, match="No device mesh"):
        parallelize_module(Net(), None, PLAN)
    with pytest.raises(TypeError, match="Expect Union"):
        parallelize_module(Net(), mesh, [ColwiseParallel()])
    with pytest.raises(NotImplementedError, match="max_norm"):
        parallelize_module(nn.Embedding(8, 4, max_norm=1.0), mesh, RowwiseParallel())
    with pytest.raises(NotImplementedError, match="scale_grad_by_freq"):
        parallelize_module(nn.Embedding(8, 4, scale_grad_by_freq=True), mesh, RowwiseParallel())
    with pytest.raises(NotImplementedError, match="supports nn.Linear and nn.Embedding, got Tanh"):
        parallelize_module(nn.Tanh(), mesh, ColwiseParallel())
    with pytest.raises(ValueError, match="supports the layouts"):
        ColwiseParallel(input_layouts=Shard(0))
    with pytest.raises(ValueError, match="DTensors"):
        RowwiseParallel(use_local_output=False)


def test_a_transformer_with_every_product_of_parallelisms(group) -> None:
    names = ("data", "pipe", "tensor")
    alone = DeviceMesh("cpu", [[[group.rank]]], mesh_dim_names=names)
    wanted = transformer_3d.train(alone, steps=2, size=8, micro=2, blocks=4)
    assert wanted[-1] != wanted[0]
    for shape in shapes(group.world_size, 3):
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
        found = transformer_3d.train(mesh, steps=2, size=8, micro=2, blocks=4)
        assert found == pytest.approx(wanted, rel=1e-4), shape
