"""The programs whose growth is measured. Each runs on worker0 of a world of W workers and checks its own result.

Calls to all workers go through trees: a `WorkerGroup`, or nested calls in which each worker calls two others.
"""

from __future__ import annotations

from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc


# -- functions that run on the workers ---------------------------------------------------------------------------------
def own_rank() -> int:
    return rpc.get_worker_info().id


def scaled(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return x * (own_rank() + 1)


def add(left: Any, right: Any) -> Any:
    return left + right


def below(low: int, high: int, x: mpigrad.Tensor) -> mpigrad.Tensor:
    """The sum of `scaled(x)` of the workers from `low` to `high`: worker `low` calls two others, each for half of the rest."""
    middle = (low + 1 + high) // 2
    halves = [(start, end) for start, end in ((low + 1, middle), (middle, high)) if start < end]
    calls = [rpc.rpc_async(start, below, args=(start, end, x)) for start, end in halves]
    total = scaled(x)
    for call in calls:
        total = total + call.wait()
    return total


KEPT: dict[int, Any] = {}  # by rank, as simulated workers share the module


def holders(low: int, high: int, reference: Any, keep: bool) -> int:
    """Pass an RRef to all workers from `low` to `high`, in the same tree, which may keep it; returns how many got it."""
    if keep:
        KEPT[low] = reference
    middle = (low + 1 + high) // 2
    halves = [(start, end) for start, end in ((low + 1, middle), (middle, high)) if start < end]
    calls = [rpc.rpc_async(start, holders, args=(start, end, reference, keep)) for start, end in halves]
    return 1 + sum(call.wait() for call in calls)


# -- programs of worker0 -----------------------------------------------------------------------------------------------
def call_each(size: int) -> None:
    """One call to each worker, all from worker0."""
    assert [fut.wait() for fut in [rpc.rpc_async(rank, own_rank) for rank in range(size)]] == list(range(size))


def call_first() -> None:
    """Run by all workers at once: a call to worker0."""
    assert rpc.rpc_sync(0, own_rank) == 0


def group_call(size: int) -> None:
    """A call to all workers as a group; results are added on the way."""
    assert rpc.WorkerGroup().rpc_sync(own_rank, reduce=add) == size * (size - 1) // 2


def spread_reference(size: int, keep: bool = False) -> None:
    """An RRef that travels to all workers; they drop it, unless they are told to keep it."""
    assert rpc.rpc_sync(0, holders, args=(0, size, rpc.RRef(42), keep)) == size


class Recorded:
    """A context that spans all workers: forward, backward and release are separate steps."""

    def __init__(self, size: int, grouped: bool) -> None:
        self.size, self.grouped = size, grouped
        self._context = dist_autograd.context()

    def forward(self) -> None:
        self.x = mpigrad.ones(2, 2, dtype=mpigrad.float64, requires_grad=True)  # exact sums
        self._id = self._context.__enter__()
        if self.grouped:
            total = rpc.WorkerGroup().rpc_sync(scaled, args=(self.x,), reduce=add)
        else:
            total = rpc.rpc_sync(0, below, args=(0, self.size, self.x))
        self._loss = total.sum()

    def backward(self) -> None:
        dist_autograd.backward(self._id, [self._loss])
        found = dist_autograd.get_gradients(self._id)[self.x]
        assert found.tolist() == [[self.size * (self.size + 1) / 2] * 2] * 2, found

    def release(self) -> None:
        self._context.__exit__(None, None, None)
        del self._loss


