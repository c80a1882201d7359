"""Distributed autograd over two ranks: one remote add, a retained graph, and a small training loop."""

from __future__ import annotations

from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

REMOTE_ADDS = 6


def leaves() -> tuple[Any, Any]:
    """Two 3x3 tensors that need gradients."""
    return library.ones(3, 3, requires_grad=True), library.ones(3, 3, requires_grad=True)


def remote_add(seconds: float) -> Sample:
    """A complete context: enter, one remote add, backward, leave."""
    left, right = leaves()

    def step() -> None:
        with dist_autograd.context() as context_id:
            loss = rpc.rpc_sync("worker1", library.add, args=(left, right)).sum()
            dist_autograd.backward(context_id, [loss])

    return repeat(step, seconds)


def retained(seconds: float) -> Sample:
    """Backward repeatedly through the same remote call."""
    left, right = leaves()
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", library.add, args=(left, right)).sum()
        return repeat(lambda: dist_autograd.backward(context_id, [loss], retain_graph=True), seconds)


def training_loop(seconds: float) -> Sample:
    """Six remote adds, each on the result of the one before, then a remote RRef of one more, then backward."""
    left, right = leaves()

    def step() -> None:
        with dist_autograd.context() as context_id:
            result = right
            for _ in range(REMOTE_ADDS):
                result = rpc.rpc_sync("worker1", library.add, args=(left, result))
            result = rpc.remote("worker1", library.add, args=(left, result)).to_here()
            dist_autograd.backward(context_id, [result.sum()])

    return repeat(step, seconds)


MEASURES = {"remote_add": remote_add, "retained": retained, "training_loop": training_loop}
