"""Calls inside calls: a chain of eight hops around four ranks, forward and backward."""

from __future__ import annotations

from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

WORLD = 4
HOPS = 8


def hop(tensor: Any, rank: int, left: int) -> Any:
    """Add one, then let the next rank do the rest."""
    tensor = tensor + 1
    if left == 0:
        return tensor
    following = (rank + 1) % WORLD
    return rpc.rpc_sync(f"worker{following}", hop, args=(tensor, following, left - 1))


def chain_of_8(seconds: float) -> Sample:
    """One context with eight nested hops and the backward pass through all of them."""
    start = library.ones(3, 3, requires_grad=True)

    def step() -> None:
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, [hop(start, 0, HOPS).sum()])

    return repeat(step, seconds)


MEASURES = {"chain_of_8": chain_of_8}
