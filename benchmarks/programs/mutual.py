"""Two ranks that call each other: both at once, and in calls inside calls."""

from __future__ import annotations

from typing import Any

from benchmarks import team
from benchmarks.library import library, part
from benchmarks.rank import rank_and_size
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

RANK, WORLD = rank_and_size()
CALLS, STEPS = 200, 50
HOPS = 9


def nothing() -> None:
    """The function of the empty call."""


def call(count: int) -> None:
    """Empty calls to the other rank."""
    for _ in range(count):
        rpc.rpc_sync(f"worker{1 - RANK}", nothing)


def add(count: int) -> None:
    """Complete contexts: enter, one remote add, backward, leave."""
    left, right = library.ones(3, 3, requires_grad=True), library.ones(3, 3, requires_grad=True)
    for _ in range(count):
        with dist_autograd.context() as context_id:
            loss = rpc.rpc_sync(f"worker{1 - RANK}", library.add, args=(left, right)).sum()
            dist_autograd.backward(context_id, [loss])


def bounce(tensor: Any, here: int, left: int) -> Any:
    """Add one, then let the other rank do the rest."""
    tensor = tensor + 1
    if left == 0:
        return tensor
    return rpc.rpc_sync(f"worker{1 - here}", bounce, args=(tensor, 1 - here, left - 1))


def empty(seconds: float) -> Sample:
    """Seconds per empty call when both ranks call each other."""
    return team.repeat_together("call", call, WORLD, seconds, CALLS)


def remote_add(seconds: float) -> Sample:
    """Seconds per remote add with its backward pass when both ranks call each other."""
    return team.repeat_together("add", add, WORLD, seconds, STEPS)


def bounce_9(seconds: float) -> Sample:
    """One context with nine nested calls between the two ranks, and the backward pass through all of them."""
    start = library.ones(3, 3, requires_grad=True)

    def step() -> None:
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, [bounce(start, 0, HOPS).sum()])

    return repeat(step, seconds)


def follow() -> None:
    """Run the main thread of the other rank."""
    team.follow({"call": call, "add": add})


def dismiss() -> None:
    """Let the other rank end."""
    team.dismiss(WORLD)


MEASURES = {"empty": empty, "remote_add": remote_add, "bounce_9": bounce_9}
