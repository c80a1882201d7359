"""One function on all ranks: a loop of calls, and a call to a group, which takes a tree; without and with a backward pass."""

from __future__ import annotations

import operator
from typing import Any

from benchmarks.library import library, part
from benchmarks.rank import rank_and_size
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")

_, WORLD = rank_and_size()


def double(tensor: Any) -> Any:
    """The function that all ranks run."""
    return tensor + tensor


def call_in_a_loop(tensor: Any) -> Any:
    """The sum of the results, by one call to each rank."""
    futures = [rpc.rpc_async(f"worker{rank}", double, args=(tensor,)) for rank in range(WORLD)]
    values = [fut.wait() for fut in futures]
    return sum(values[1:], values[0])


def call_the_group(tensor: Any) -> Any:
    """The sum of the results, by one call to the group of all ranks."""
    return rpc.WorkerGroup().rpc_sync(double, args=(tensor,), reduce=operator.add)


def forward(call: Any) -> Any:
    """Measure calls."""
    return lambda seconds: repeat(lambda: call(library.ones(3, 3)), seconds)


def backward(call: Any) -> Any:
    """Measure a context, calls and a backward pass."""
    start = library.ones(3, 3, requires_grad=True)

    def step() -> None:
        with dist_autograd.context() as context_id:
            dist_autograd.backward(context_id, [call(start).sum()])

    def measure(seconds: float) -> Sample:
        return repeat(step, seconds)

    return measure


MEASURES = {
    "loop": forward(call_in_a_loop),
    "tree": forward(call_the_group),
    "loop_backward": backward(call_in_a_loop),
    "tree_backward": backward(call_the_group),
}
