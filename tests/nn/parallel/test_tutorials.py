"""Programs of PyTorch's tutorials on DDP, and on DDP with RPC, in which the word torch is replaced."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import mpigrad
import mpigrad.distributed as dist

DDP = '''
import os
import tempfile
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


class ToyModel(nn.Module):
    def __init__(self):
        super(ToyModel, self).__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def demo_basic(rank, world_size):
    model = ToyModel()
    ddp_model = DDP(model)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    return ddp_model


def demo_checkpoint(rank, world_size, path):
    model = ToyModel()
    ddp_model = DDP(model)
    if rank == 0:
        # All processes should see same parameters as they all start from same
        # random parameters and gradients are synchronized in backward passes.
        # Therefore, saving it in one process is sufficient.
        torch.save(ddp_model.state_dict(), path)
    # Use a barrier() to make sure that process 1 loads the model after process
    # 0 saves it.
    dist.barrier()
    map_location = "cpu"
    ddp_model.load_state_dict(torch.load(path, map_location=map_location, weights_only=True))
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=0.001)
    optimizer.zero_grad()
    outputs = ddp_model(torch.randn(20, 10))
    labels = torch.randn(20, 5)
    loss_fn(outputs, labels).backward()
    optimizer.step()
    dist.barrier()
    return ddp_model
'''

HYBRID = '''
import random
import torch
import torch.distributed as dist
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
import torch.optim as optim
from torch.distributed.nn import RemoteModule
from torch.distributed.optim import DistributedOptimizer
from torch.distributed.rpc import RRef
from torch.nn.parallel import DistributedDataParallel as DDP

NUM_EMBEDDINGS = 100
EMBEDDING_DIM = 16


class HybridModel(torch.nn.Module):
    """
    The model consists of a sparse part and a dense part.
    1) The dense part is an nn.Linear module that is replicated across all trainers using DistributedDataParallel.
    2) The sparse part is a Remote Module that holds an nn.EmbeddingBag on the parameter server.
    This remote model can get a Remote Reference to the embedding table on the parameter server.
    """

    def __init__(self, remote_emb_module, device, group):
        super(HybridModel, self).__init__()
        self.remote_emb_module = remote_emb_module
        self.fc = DDP(torch.nn.Linear(16, 8), process_group=group)
        self.device = device

    def forward(self, indices, offsets):
        emb_lookup = self.remote_emb_module.forward(indices, offsets)
        return self.fc(emb_lookup)


def _run_trainer(remote_emb_module, rank, group, epochs=3):
    model = HybridModel(remote_emb_module, rank, group)
    # Retrieve all model parameters as rrefs for DistributedOptimizer.
    model_parameter_rrefs = model.remote_emb_module.remote_parameters()
    # model.fc.parameters() only includes local parameters.
    for param in model.fc.parameters():
        model_parameter_rrefs.append(RRef(param))
    opt = DistributedOptimizer(optim.SGD, model_parameter_rrefs, lr=0.05)
    criterion = torch.nn.CrossEntropyLoss()

    def get_next_batch(rank):
        for _ in range(4):
            num_indices = random.randint(20, 50)
            indices = torch.LongTensor(num_indices).random_(0, NUM_EMBEDDINGS)
            offsets = []
            start = 0
            batch_size = 0
            while start < num_indices:
                offsets.append(start)
                start += random.randint(1, 10)
                batch_size += 1
            offsets_tensor = torch.LongTensor(offsets)
            target = torch.LongTensor(batch_size).random_(8)
            yield indices, offsets_tensor, target

    for epoch in range(epochs):
        for indices, offsets, target in get_next_batch(rank):
            with dist_autograd.context() as context_id:
                output = model(indices, offsets)
                loss = criterion(output, target)
                # Run distributed backward pass
                dist_autograd.backward(context_id, [loss])
                # Tun distributed optimizer
                opt.step(context_id)
                # Not necessary to zero grads since gradients are accumulated into
                # the distributed autograd context which is reset every iteration.
    return model
'''


def replaced(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "a_tutorial"}
    exec(compile(program.replace("torch", "mpigrad"), "tutorial", "exec"), names)
    return names


def assert_equal_on_all(model: Any, group: Any = None) -> None:
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, [each.tolist() for each in model.parameters()], group)
    assert all(each == found[0] for each in found)


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_data_parallel(world, tmp_path) -> None:
    dist.init_process_group("gloo", rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    program, path = replaced(DDP), [str(tmp_path / "model.checkpoint")]
    dist.broadcast_object_list(path, src=0)
    assert_equal_on_all(program["demo_basic"](world.rank, world.world_size))
    assert_equal_on_all(program["demo_checkpoint"](world.rank, world.world_size, path[0]))
    dist.destroy_process_group()


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_data_parallel_beside_rpc(world) -> None:
    """Rank 0 is the parameter server; all others train."""
    import mpigrad.distributed.rpc as rpc
    from mpigrad.distributed.nn import RemoteModule

    program = replaced(HYBRID)
    dist.init_process_group("gloo", rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    group = dist.new_group(list(range(1, world.world_size)))
    rpc.init_rpc("ps" if world.rank == 0 else f"trainer{world.rank}", rank=world.rank, world_size=world.world_size)
    if world.rank:
        table = RemoteModule("ps", mpigrad.nn.EmbeddingBag, args=(100, 16), kwargs={"mode": "sum"})
        assert_equal_on_all(program["_run_trainer"](table, world.rank, group).fc, group)
    rpc.shutdown()
    dist.destroy_process_group()
