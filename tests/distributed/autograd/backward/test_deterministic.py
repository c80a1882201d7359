"""`use_deterministic_algorithms`: the same bits in every run, for every order in which messages arrive."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.nn.functional as F
import mpigrad.distributed.rpc as rpc
from mpigrad import nn
from mpigrad._core.autograd.contexts import DistAutogradContext
from mpigrad._core.engine import GraphTask
from mpigrad._graph.namespace import RAW
from tests.support.in_memory import acting_as, world_in_memory

RUNS = 50


@pytest.fixture
def deterministic() -> Iterator[None]:
    mpigrad.use_deterministic_algorithms(True)
    yield
    mpigrad.use_deterministic_algorithms(False)


def terms(count: int = 6) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [(random.normal(size=20) * 10.0 ** random.integers(-3, 4)).astype("f4") for _ in range(count)]


def orders(count: int = 6) -> Iterator[np.ndarray]:
    random = np.random.default_rng(1)
    for _ in range(RUNS):
        yield random.permutation(count)


def bits_in_contexts() -> set[bytes]:
    """The gradients of a leaf that gets the same terms in many orders."""
    found, leaf = set(), mpigrad.zeros(20, requires_grad=True)
    for order in orders():
        context = DistAutogradContext(0)
        for place in order:
            context.accumulate(leaf, terms()[place], RAW)
        found.add(context.gradients[leaf].numpy().tobytes())
    return found


def test_without_it_the_order_shows() -> None:
    assert len(bits_in_contexts()) > 1


def test_gradients_in_contexts(deterministic) -> None:
    assert len(bits_in_contexts()) == 1


def test_sparse_gradients_in_contexts(deterministic) -> None:
    found, leaf = set(), mpigrad.zeros(5, requires_grad=True)
    for order in orders(3):
        context = DistAutogradContext(0)
        for place in order:
            values = mpigrad.tensor(terms()[place][:2])
            context.accumulate(leaf, mpigrad.sparse_coo_tensor([[1, 3]], values, (5,))._array, RAW)
        found.add(context.gradients[leaf].to_dense().numpy().tobytes())
    assert len(found) == 1


def test_gradients_that_meet_in_the_graph(deterministic) -> None:
    x = mpigrad.zeros(2, 20, requires_grad=True)
    for node in ((x[0] * 1).grad_fn, x.unbind(0)[0].grad_fn):
        found = set()
        for order in orders():
            task = GraphTask(RAW, {node: 0}, True)
            task.ordered = {}
            for place in order:
                task.feed(node, 0, terms()[place])
            held = task.buffers[node]
            found.add((held if node.outputs == 1 else held[0]).tobytes())
        assert len(found) == 1


def scaled(x: mpigrad.Tensor, factor: float) -> mpigrad.Tensor:
    return x * factor


def gradient_over_workers(names: list[str]) -> bytes:
    """A leaf and an inner node, used by many calls at once, each with another factor."""
    a = mpigrad.tensor(terms()[0], requires_grad=True)
    with dist_autograd.context() as context_id:
        y = a * a
        calls = [
            rpc.rpc_async(name, scaled, args=(x, 10.0 ** (i % 7 - 3) / 3)) for i, name in enumerate(names * 3) for x in (a, y)
        ]
        dist_autograd.backward(context_id, [sum(call.wait() for call in calls).sum()])
        return dist_autograd.get_gradients(context_id)[a].numpy().tobytes()


def test_passes_in_memory(deterministic) -> None:
    with world_in_memory(4, graceful=False, rpc_timeout=20) as agents, acting_as(agents[0]):
        assert len({gradient_over_workers(["worker1", "worker2", "worker3"]) for _ in range(RUNS)}) == 1


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_passes_over_ranks(world, deterministic) -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.world_size)
    names = [f"worker{rank}" for rank in range(world.world_size)]
    assert len({gradient_over_workers(names) for _ in range(RUNS)}) == 1
    rpc.shutdown()


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("op", ["SUM", "AVG", "PRODUCT"])
def test_reductions_in_the_order_of_ranks(world, deterministic, op: str) -> None:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    size, parts = world.world_size, terms(world.world_size)
    wanted: Any = parts[0].copy()
    for each in parts[1:]:
        wanted = wanted * each if op == "PRODUCT" else wanted + each
    wanted = wanted / size if op == "AVG" else wanted
    mine, how = mpigrad.tensor(parts[world.rank]), dist.ReduceOp[op]
    for _ in range(3):
        made = mine.clone()
        dist.all_reduce(made, how)
        assert made.numpy().tobytes() == wanted.astype("f4").tobytes()
    made = mine.clone()
    dist.reduce(made, 0, how)
    assert world.rank or made.numpy().tobytes() == wanted.astype("f4").tobytes()
    piece = mpigrad.empty(20)
    dist.reduce_scatter(piece, [mine.clone() for _ in range(size)], how)
    assert piece.numpy().tobytes() == wanted.astype("f4").tobytes()
    half = mine.half()
    dist.all_reduce(half, how)
    assert half.dtype is mpigrad.float16
    dist.destroy_process_group()


def gradient_over_collectives(rank: int, size: int, model: Any) -> bytes:
    """The gradient through sums and moves of all ranks, with ranks that come in another order each time."""
    given = terms(size)[rank]
    x = mpigrad.tensor(given, requires_grad=True)
    y = F.all_reduce(x * x)
    rows = F.all_gather(F.broadcast(y * x, size - 1) + y)
    z = F.reduce_scatter(x, [each * (i + 1.7) for i, each in enumerate(rows)])
    z.sum().backward()
    model.zero_grad()
    model(x.detach().reshape(5, 4)).pow(3).sum().backward()
    return b"".join([x.grad.numpy().tobytes(), *(each.grad.numpy().tobytes() for each in model.parameters())])


@pytest.mark.mpi(min_size=2)
def test_gradients_over_collectives(world, deterministic) -> None:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    mpigrad.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 30), nn.Tanh(), nn.Linear(30, 2)), bucket_cap_mb=1e-4)
    random, found = np.random.default_rng(world.rank), set()
    for _ in range(RUNS):
        for _ in range(random.integers(2000)):  # ranks come earlier and later
            pass
        found.add(gradient_over_collectives(world.rank, world.world_size, model))
    assert len(found) == 1
    dist.destroy_process_group()
