"""Four ranks on the cores of this machine: calls between two ranks, calls between all ranks, and training on all ranks."""

from __future__ import annotations

from typing import Any

from benchmarks import team
from benchmarks.library import library, part
from benchmarks.rank import rank_and_size
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

RANK, WORLD = rank_and_size()
CALLS, STEPS = 100, 20

weight = library.ones(3, 3, requires_grad=True)


def nothing() -> None:
    """The function of the empty call."""


def served(tensor: Any) -> Any:
    """The function that each rank runs for the others: it uses its own parameter."""
    return library.matmul(tensor, weight)


def call_neighbour(count: int) -> None:
    """Empty calls to the next rank."""
    following = f"worker{(RANK + 1) % WORLD}"
    for _ in range(count):
        rpc.rpc_sync(following, nothing)


def train(count: int) -> None:
    """Training steps that use the parameters of all the other ranks."""
    servers = [f"worker{rank}" for rank in range(WORLD) if rank != RANK]
    batch = library.ones(3, 3, requires_grad=True)
    for _ in range(count):
        with dist_autograd.context() as context_id:
            answers = [rpc.rpc_async(server, served, args=(batch,)) for server in servers]
            losses = [answer.wait().sum() for answer in answers]
            dist_autograd.backward(context_id, [sum(losses[1:], losses[0])])


def pair(seconds: float) -> Sample:
    """Empty calls from rank 0 to rank 1 while the other two ranks are idle."""
    return repeat(lambda: rpc.rpc_sync("worker1", nothing), seconds)


def ring(seconds: float) -> Sample:
    """Seconds per empty call when every rank calls the next one at the same time."""
    return team.repeat_together("ring", call_neighbour, WORLD, seconds, CALLS)


def trainers(seconds: float) -> Sample:
    """Seconds per step when every rank trains and serves at the same time."""
    return team.repeat_together("train", train, WORLD, seconds, STEPS)


def follow() -> None:
    """Run the main threads of the other ranks."""
    team.follow({"ring": call_neighbour, "train": train})


def dismiss() -> None:
    """Let the other ranks end."""
    team.dismiss(WORLD)


MEASURES = {"pair": pair, "ring": ring, "trainers": trainers}
