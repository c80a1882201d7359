"""Collectives and `DistributedDataParallel` against torch on gloo: both in each rank, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed.nn.functional as torch_functional
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as torch_hooks

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.nn.functional as our_functional
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from mpigrad.distributed.algorithms.join import Join
from mpigrad.nn.parallel import DistributedDataParallel as DDP

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore:torch.distributed.nn.functional:FutureWarning")]


@pytest.fixture
def both(world, tmp_path) -> Iterator[Any]:
    """Groups of all ranks in both libraries."""
    path = world.gather(str(tmp_path / "store"))[0]
    dist.init_process_group(timeout=timedelta(seconds=30))
    torch.distributed.init_process_group(
        "gloo", f"file://{path}", rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30)
    )
    yield world
    dist.barrier()
    torch.distributed.destroy_process_group()
    dist.destroy_process_group()


# Each takes (functional, library, tensor, rank, size) and returns tensors.
PROGRAMS: dict[str, Callable[..., Any]] = {
    "all_reduce": lambda F, lib, x, rank, size: [F.all_reduce(x * x)],
    "broadcast": lambda F, lib, x, rank, size: [F.broadcast(x * x, size - 1)],
    "gather": lambda F, lib, x, rank, size: list(F.gather(x * x, size - 1)),
    "scatter": lambda F, lib, x, rank, size: [F.scatter([x * (i + 1) for i in range(size)], size - 1)],
    "reduce": lambda F, lib, x, rank, size: [F.reduce(x * x, size - 1) * (rank == size - 1)],
    "all_gather": lambda F, lib, x, rank, size: list(F.all_gather(x * x)),
    "all_to_all": lambda F, lib, x, rank, size: list(
        F.all_to_all([lib.empty(3, 2, dtype=x.dtype) for _ in range(size)], [x * (i + 1) for i in range(size)])
    ),
    "all_to_all_single": lambda F, lib, x, rank, size: [
        F.all_to_all_single(lib.empty(size * 3, 2, dtype=x.dtype), lib.cat([x * (i + 1) for i in range(size)]))
    ],
}


def _gradient(program: Callable[..., Any], F: Any, lib: Any, given: np.ndarray, rank: int, size: int) -> list[np.ndarray]:
    """The results of a program, and the gradient of a weighted sum of them, different on each rank."""
    x = lib.tensor(given).requires_grad_()
    made = program(F, lib, x, rank, size)
    weights = [np.random.default_rng([rank, place]).normal(size=tuple(each.shape)) for place, each in enumerate(made)]
    sum((each * lib.tensor(weight)).sum() for each, weight in zip(made, weights)).backward()
    return [*(each.detach().numpy() for each in made), x.grad.numpy()]


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_collectives(both, name: str) -> None:
    given = np.random.default_rng(both.rank).normal(size=(3, 2))
    ours = _gradient(PROGRAMS[name], our_functional, mpigrad, given, both.rank, both.world_size)
    theirs = _gradient(PROGRAMS[name], torch_functional, torch, given, both.rank, both.world_size)
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(one, other, atol=1e-12), (name, place, one, other)


def _torch_network(seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Tanh(), torch.nn.Linear(6, 2))


def _own_network(like: Any) -> nn.Sequential:
    made = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 2))
    made.load_state_dict({name: mpigrad.tensor(each.detach().numpy()) for name, each in like.state_dict().items()})
    return made


def _numbers(rank: int, step: int) -> np.ndarray:
    return np.random.default_rng([rank, step]).normal(size=(5, 4)).astype("f4")


def _steps(lib: Any, model: Any, optimizer: Any, rank: int, count: int) -> list[np.ndarray]:
    """Some steps; gradients of the last one, parameters and buffers."""
    for step in range(count):
        optimizer.zero_grad()
        (model(lib.tensor(_numbers(rank, step))) ** 2).mean().backward()
        optimizer.step()
    grads = [each.grad.numpy().copy() for each in model.parameters()]
    return [*grads, *(each.detach().numpy() for each in model.state_dict().values())]


OPTIONS: list[dict[str, Any]] = [
    {}, {"bucket_cap_mb": 1e-4}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}, {"static_graph": True},
]  # fmt: skip


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_data_parallel(both, options: dict[str, Any]) -> None:
    """torch's DDP on gloo, ours of the same torch module, and ours of a module of ours."""
    theirs = torch.nn.parallel.DistributedDataParallel(_torch_network(both.rank), **options)
    guest = DDP(_torch_network(both.rank), **options)
    own = DDP(_own_network(_torch_network(both.rank)), **options)
    assert isinstance(guest, torch.nn.Module)
    assert list(guest.state_dict()) == list(theirs.state_dict()) == list(own.state_dict())
    wanted = _steps(torch, theirs, torch.optim.SGD(theirs.parameters(), lr=0.1), both.rank, 4)
    as_guest = _steps(torch, guest, torch.optim.SGD(guest.parameters(), lr=0.1), both.rank, 4)
    found = _steps(mpigrad, own, mpigrad.optim.SGD(own.parameters(), lr=0.1), both.rank, 4)
    for one, two, three in zip(wanted, as_guest, found, strict=True):
        assert np.allclose(one, two, atol=1e-6)
        assert np.allclose(one, three, atol=1e-5)


def _doubled(state, bucket):
    """A communication hook for both libraries: twice the sum over ranks. (torch checks annotations, so there are none.)"""
    state.append(bucket.index())
    library = dist if isinstance(bucket.buffer(), mpigrad.Tensor) else torch.distributed
    return library.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0] * 2)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("hook", ["allreduce_hook", "fp16_compress_hook", _doubled])
def test_communication_hooks_of_torch_modules(both, hook: Any) -> None:
    made = []
    for wrap, hooks in ((torch.nn.parallel.DistributedDataParallel, torch_hooks), (DDP, default_hooks)):
        model, buckets = wrap(_torch_network(both.rank), bucket_cap_mb=1e-4), []
        model.register_comm_hook(buckets if callable(hook) else None, hook if callable(hook) else getattr(hooks, hook))
        made.append(_steps(torch, model, torch.optim.SGD(model.parameters(), lr=0.01), both.rank, 3))
        assert not callable(hook) or len(set(buckets)) > 1
    for one, two in zip(*made, strict=True):
        assert np.allclose(one, two, atol=5e-3 if hook == "fp16_compress_hook" else 1e-5)


@pytest.mark.mpi(min_size=2)
def test_no_sync_of_torch_modules(both) -> None:
    made = []
    for wrap in (torch.nn.parallel.DistributedDataParallel, DDP):
        torch.manual_seed(0)
        model = wrap(torch.nn.Linear(4, 2))
        with model.no_sync():
            model(torch.tensor(_numbers(both.rank, 0))).sum().backward()
        alone = model.module.weight.grad.numpy().copy()
        model(torch.tensor(_numbers(both.rank, 1))).sum().backward()
        made.append((alone, model.module.weight.grad.numpy()))
    assert np.allclose(made[0][0], made[1][0]) and np.allclose(made[0][1], made[1][1], atol=1e-6)
    assert not np.allclose(made[0][0], made[0][1])


@pytest.mark.mpi(min_size=2)
def test_sparse_gradients_of_torch_modules(both) -> None:
    torch.manual_seed(0)
    model = DDP(torch.nn.Sequential(torch.nn.Embedding(10, 2, sparse=True), torch.nn.Linear(2, 1)))
    model(torch.tensor([both.rank, 9])).sum().backward()
    grad, weight = model.module[0].weight.grad, model.module[1].weight.detach().numpy()[0]
    assert grad.is_sparse
    wanted = np.zeros((10, 2))
    for rank in range(both.world_size):
        np.add.at(wanted, [rank, 9], weight / both.world_size)
    assert np.allclose(grad.to_dense().numpy(), wanted, atol=1e-6)


@pytest.mark.mpi(min_size=2)
def test_join_of_torch_modules(both) -> None:
    made = []
    for wrap, join in ((torch.nn.parallel.DistributedDataParallel, torch.distributed.algorithms.join.Join), (DDP, Join)):
        torch.manual_seed(0)
        model = wrap(torch.nn.Linear(4, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with join([model]):
            for step in range(both.rank + 1):
                optimizer.zero_grad()
                (model(torch.tensor(_numbers(both.rank, step))) ** 2).mean().backward()
                optimizer.step()
        made.append(model.module.weight.detach().numpy())
    assert np.allclose(*made, atol=1e-6)


def _rows(owner: Any, ids: Any) -> Any:
    return owner.local_value()(ids)


@pytest.mark.mpi(min_size=2)
def test_torch_modules_in_a_context(both) -> None:
    """A table by RPC and a dense part by DDP, both of torch: the context has the averages, `.grad` stays None."""
    rank, size = both.rank, both.world_size
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    torch.manual_seed(0)
    dense = torch.nn.Linear(3, 2)
    model = DDP(dense, bucket_cap_mb=1e-6)
    table = rpc.remote("worker0", torch.nn.EmbeddingBag, args=(10, 3), kwargs={"mode": "sum"})
    for step in range(3):
        ids = torch.tensor([[rank, step], [rank + 1, 5]])
        with dist_autograd.context() as context_id:
            rows = rpc.rpc_sync("worker0", _rows, args=(table, ids))
            dist_autograd.backward(context_id, [(model(rows) ** 2).sum()])
            found = dist_autograd.get_gradients(context_id)
            mine = [found[each].numpy() for each in dense.parameters()]
        alone = torch.nn.Linear(3, 2)
        alone.load_state_dict(dense.state_dict())
        (alone(rows.detach()) ** 2).sum().backward()
        every: list[Any] = [None] * size
        dist.all_gather_object(every, [each.grad.numpy() for each in alone.parameters()])
        for one, terms in zip(mine, zip(*every), strict=True):
            assert np.allclose(one, sum(terms) / size, atol=1e-4)
        assert dense.weight.grad is None
    rpc.shutdown()


@pytest.mark.mpi(min_size=2)
def test_refused_torch_modules(both) -> None:
    with pytest.raises(TypeError, match="cannot sum torch tensors of torch.bfloat16"):
        DDP(torch.nn.Linear(2, 2).bfloat16())
    with pytest.raises(RuntimeError, match="uninitialized parameters"):
        DDP(torch.nn.LazyLinear(2))
    with pytest.raises(RuntimeError, match="is not needed when a module doesn't have any parameter"):
        DDP(torch.nn.ReLU())
