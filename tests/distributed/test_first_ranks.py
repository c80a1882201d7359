"""Worlds and process groups of the first ranks of a job, in which the other ranks have no part."""

from __future__ import annotations

from datetime import timedelta

import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad.distributed import _first_ranks
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer

from .rpc import support_functions as far


def nothing_is_left() -> bool:
    return not _first_ranks._begun


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("given", [True, False])
def test_a_process_group_of_the_first_ranks(world, given: bool) -> None:
    size = world.world_size - 1
    for _ in range(3):
        place = {"rank": world.rank} if given else {}
        if world.rank >= size:
            with pytest.raises(RuntimeError, match=f"rank < size. {world.rank} vs {size}"):
                dist.init_process_group("gloo", world_size=size, **place)
            continue
        dist.init_process_group("gloo", world_size=size, **place)
        assert (dist.get_rank(), dist.get_world_size()) == (world.rank, size)
        x = mpigrad.tensor([world.rank + 1.0])
        dist.all_reduce(x)
        assert x.item() == size * (size + 1) / 2
        assert dist.get_world_size(dist.new_group(list(range(size)))) == size
        dist.destroy_process_group()
    assert nothing_is_left()


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize("others", ["nothing", "dynamic"])
def test_a_world_of_the_first_ranks(world, others: str) -> None:
    size = world.world_size - 1
    if world.rank < size:
        rpc.init_rpc(world.name, rank=world.rank, world_size=size)
        assert [info.id for info in rpc.api._get_worker_infos()] == list(range(size))
        assert rpc.rpc_sync((world.rank + 1) % size, far.whoami) == world.worker((world.rank + 1) % size)
        with pytest.raises(RuntimeError, match="could not find destination"):
            rpc.rpc_sync(world.worker(size), far.whoami)
    else:
        with pytest.raises(RuntimeError, match=f"rank < size. {world.rank} vs {size}"):
            rpc.init_rpc(world.name, rank=world.rank, world_size=size)
        if others == "dynamic":
            rpc.init_rpc(world.name, rank=world.rank)
            assert rpc.rpc_sync(world.name, far.whoami) == world.name
    world.barrier()
    if rpc._is_current_rpc_agent_set():
        rpc.shutdown()
    assert nothing_is_left()


@pytest.mark.mpi(min_size=3)
def test_who_comes_late_finds_the_others_where_they_were(world) -> None:
    size, last = world.world_size - 1, world.world_size - 2
    if world.rank < last:
        with pytest.raises(RuntimeError, match="init_process_group did not end within"):
            dist.init_process_group(world_size=size, timeout=timedelta(seconds=0.05))
        with pytest.raises(TimeoutError, match=rf"init_rpc has waited .* of {size}"):
            rpc.init_rpc(world.name, world_size=size, rpc_backend_options=rpc.MPIRpcBackendOptions(init_timeout=0.05))
    world.barrier()
    if world.rank < size:
        dist.init_process_group(world_size=size)
        rpc.init_rpc(world.name, world_size=size)
        x = mpigrad.ones(1)
        dist.all_reduce(x)
        assert x.item() == size and rpc.rpc_sync(last, far.whoami) == world.worker(last)
        rpc.shutdown()
        dist.destroy_process_group()
    assert nothing_is_left()


@pytest.mark.mpi(min_size=4)
def test_ranks_that_do_not_agree_are_told(world) -> None:
    if world.rank < 2:
        with pytest.raises(RuntimeError, match=f"was given world_size={2 + world.rank}, but other ranks were given another one"):
            dist.init_process_group(world_size=2 + world.rank)
    assert nothing_is_left()


# -- the tutorial "Combining Distributed DataParallel with Distributed RPC Framework": two trainers, a master and a server ---
class HybridModel(nn.Module):
    """Sparse rows of another worker, and a dense layer of which every trainer has a copy."""

    def __init__(self, remote_emb_module: RemoteModule) -> None:
        super().__init__()
        self.remote_emb_module = remote_emb_module
        self.fc = nn.Linear(16, 8)
        nn.init.constant_(self.fc.weight, 0.1)
        nn.init.zeros_(self.fc.bias)

    def forward(self, indices, offsets):
        return self.fc(self.remote_emb_module.forward(indices, offsets))


def _retrieve_embedding_parameters(emb_rref):
    return [rpc.RRef(p) for p in emb_rref.local_value().parameters()]


def _run_trainer(remote_emb_module: RemoteModule, rank: int) -> list[float]:
    model = HybridModel(remote_emb_module)
    rrefs = rpc.rpc_sync("ps", _retrieve_embedding_parameters, args=(remote_emb_module.get_module_rref(),))
    rrefs += [rpc.RRef(p) for p in model.fc.parameters()]
    opt = DistributedOptimizer(mpigrad.optim.SGD, rrefs, lr=0.05)
    indices, offsets = mpigrad.arange(rank, 12 + rank), mpigrad.tensor([0, 4, 8])
    target, losses = mpigrad.tensor([1, 2, 3]), []
    for _ in range(5):
        with dist_autograd.context() as context_id:
            loss = nn.functional.cross_entropy(model(indices, offsets), target)
            dist_autograd.backward(context_id, [loss])
            grads = dist_autograd.get_gradients(context_id)
            for parameter in model.fc.parameters():  # what DistributedDataParallel does
                dist.all_reduce(grads[parameter])
                grads[parameter].div_(dist.get_world_size())
            opt.step(context_id)
            losses.append(loss.item())
    return [*losses, *model.fc.weight.flatten().tolist()]


@pytest.mark.mpi(min_size=4)
def test_the_tutorial_with_two_trainers_in_a_job_of_four(world) -> None:
    rank, world_size = world.rank, 4
    if rank >= world_size:
        return
    if rank == 2:
        rpc.init_rpc("master", rank=rank, world_size=world_size)
        emb = RemoteModule("ps", nn.EmbeddingBag, args=(100, 16), kwargs={"mode": "sum"})
        futs = [rpc.rpc_async(f"trainer{each}", _run_trainer, args=(emb, each)) for each in (0, 1)]
        first, second = [fut.wait() for fut in futs]
        assert first[5:] == second[5:]  # the copies of the dense layer
        assert first[4] < first[0] and second[4] < second[0]
    elif rank <= 1:
        dist.init_process_group(backend="gloo", rank=rank, world_size=2, init_method="tcp://localhost:29500")
        rpc.init_rpc(f"trainer{rank}", rank=rank, world_size=world_size)
    else:
        rpc.init_rpc("ps", rank=rank, world_size=world_size)
    rpc.shutdown()
    if rank <= 1:
        dist.destroy_process_group()
