"""Torch models over ranks: mixed frameworks, and a small transformer whose layers are on different ranks."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from torch import nn

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.interop.torch import from_torch, to_torch
from mpigrad.testing import World

WIDTH, WORDS, STEPS = 16, 11, 4


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Parameter(torch.randn(5, WIDTH) * 0.1)

    def forward(self, text: Any) -> Any:
        return self.words(text) + self.places


class Layer(nn.TransformerEncoderLayer):
    def __init__(self) -> None:
        super().__init__(WIDTH, 2, 32, dropout=0.0, batch_first=True)


class Predicted(nn.Linear):
    def __init__(self) -> None:
        super().__init__(WIDTH, WORDS)


STAGES: list[Any] = [Embedded, Layer, Layer, Predicted]
MAKING = threading.Lock()  # a rank with two stages makes them on two threads, and torch has one generator


class Part:
    """One stage and its optimizer, on its rank."""

    def __init__(self, stage: int) -> None:
        with MAKING:
            torch.manual_seed(stage)
            self.module = STAGES[stage]()
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1)

    def forward(self, x: Any) -> Any:
        return self.module(x)

    def step(self, context_id: int) -> None:
        gradients = dist_autograd.get_gradients(context_id)
        for each in self.module.parameters():
            assert each.grad is None
            each.grad = gradients[each]
        self.optimizer.step()
        self.optimizer.zero_grad()


def loss_of(scores: Any, text: Any) -> Any:
    return nn.functional.cross_entropy(scores.flatten(0, 1), text.flatten())


def trained_here(text: Any) -> list[float]:
    parts, losses = [Part(stage) for stage in range(4)], []
    for _ in range(STEPS):
        x = text
        for part in parts:
            x = part.forward(x)
        loss = loss_of(x, text)
        loss.backward()
        for part in parts:
            part.optimizer.step()
            part.optimizer.zero_grad()
        losses.append(loss.item())
    return losses


@pytest.mark.mpi(min_size=2)
@pytest.mark.filterwarnings("ignore")
def test_a_transformer_over_ranks_learns_as_in_one_process(rpc_world: World) -> None:
    torch.set_num_threads(1)
    if rpc_world.rank:
        return
    text = torch.randint(0, WORDS, (3, 5), generator=torch.Generator().manual_seed(1))
    parts = [rpc.remote(rpc_world.worker(stage), Part, args=(stage,)) for stage in range(4)]
    losses = []
    for _ in range(STEPS):
        with dist_autograd.context() as context_id:
            x = text
            for part in parts:
                x = part.rpc_sync().forward(x)
            loss = loss_of(x, text)
            dist_autograd.backward(context_id, [loss])
            for waiting in [part.rpc_async().step(context_id) for part in parts]:
                waiting.wait()
            losses.append(loss.item())
    assert losses == pytest.approx(trained_here(text), rel=1e-5) and losses[-1] < losses[0]


def stage_of(space: Any, x: Any, worker: str, hops: int) -> Any:
    """Computes, asks the next worker, and uses its own value again: graphs meet."""
    y = space.tanh(x)
    return y * rpc.rpc_sync(worker, stage_there, args=(space.__name__, y, worker, hops - 1)) if hops else y


def stage_there(name: str, x: Any, worker: str, hops: int) -> Any:
    return stage_of({"torch": torch, "mpigrad": mpigrad}[name], x, following(), hops)


def following() -> str:
    return f"worker{(rpc.get_worker_info().id + 1) % len(rpc._get_current_rpc_agent().get_worker_infos())}"


def stage_here(x: Any, hops: int) -> Any:
    y = torch.tanh(x)
    return y * stage_here(y, hops - 1) if hops else y


def converted_stage(x: Any, worker: str, hops: int) -> Any:
    """As `stage_of`, in the other library than the caller's: the graph changes library at each hop, there and back."""
    ours = not isinstance(x, mpigrad.Tensor)
    y = mpigrad.tanh(from_torch(x)) if ours else torch.tanh(to_torch(x))
    if not hops:
        return y
    back = rpc.rpc_sync(worker, converted_there, args=(y, hops - 1))
    return y * (from_torch(back) if ours else to_torch(back))


def converted_there(x: Any, hops: int) -> Any:
    return converted_stage(x, following(), hops)


@pytest.mark.mpi(min_size=2)
def test_both_frameworks_go_around_all_ranks(rpc_world: World) -> None:
    values = [0.3 + rpc_world.rank, -0.5]
    theirs, mixed = (torch.tensor(values, requires_grad=True) for _ in range(2))
    ours = mpigrad.tensor(values, requires_grad=True)
    with dist_autograd.context() as context_id:
        roots = [stage_of(space, x, rpc_world.next_name, 3).sum() for space, x in ((torch, theirs), (mpigrad, ours))]
        roots.append(converted_stage(mixed, rpc_world.next_name, 3).sum())
        dist_autograd.backward(context_id, roots)
        found = dist_autograd.get_gradients(context_id)
    (expected,) = torch.autograd.grad(stage_here(theirs, 3).sum(), theirs)
    torch.testing.assert_close([found[theirs], found[mixed]], [expected, expected])
    assert found[ours].tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_large_tensors_over_ranks(rpc_world: World) -> None:
    large = torch.arange(2.0**18).view(512, 512).requires_grad_()
    there = rpc.rpc_sync(rpc_world.next_name, torch.neg, args=(large.detach().t(),))
    assert torch.equal(there, -large.detach().t()) and there.stride() == (1, 512)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [rpc.rpc_sync(rpc_world.next_name, torch.mul, args=(large, large)).sum()])
        gradient = dist_autograd.get_gradients(context_id)[large]
    assert torch.equal(gradient, 2 * large) and large.grad is None
    rpc_world.barrier()
