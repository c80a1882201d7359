"""The training run of profile-guided optimisation: typical calls and passes, some hundred times each.

`MPIGRAD_TRAINED=1` (see setup.py) runs this with instrumented modules, and compiles them again with the recorded profile. Several
workers in one process are used, because there is no MPI where packages are built.
"""

from __future__ import annotations

from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._world.in_process import acting_as, in_process_world

WORKERS = 3
ROUNDS = 100


def nothing() -> None:
    """The function of the empty call."""


def combine(left: Any, right: Any) -> Any:
    """A user's function on tensors."""
    return left + right


def around(hops: int, tensor: Any) -> Any:
    """A call nested in a call nested in a call."""
    if not hops:
        return tensor * tensor
    return rpc.rpc_sync(f"worker{hops % WORKERS}", around, args=(hops - 1, tensor + tensor))


def leaf(*shape: int) -> Any:
    return mpigrad.ones(*shape, requires_grad=True)


def empty_calls() -> None:
    for _ in range(20):
        rpc.rpc_sync("worker1", nothing)
    for future in [rpc.rpc_async("worker1", nothing) for _ in range(16)]:
        future.wait()


def calls_on_tensors() -> None:
    plain, large = mpigrad.ones(3, 3), mpigrad.ones(1 << 16)
    for tensor in (plain, leaf(3, 3), large):
        rpc.rpc_sync("worker1", combine, args=(tensor, tensor))
        rpc.rpc_sync("worker2", mpigrad.add, args=(tensor, mpigrad.ones_like(tensor)))
    rpc.rpc_sync("worker1", combine, args=({"a": 1}.get("a"), 2))


def one_remote_add() -> None:
    left, right = leaf(3, 3), leaf(3, 3)
    for _ in range(4):
        with dist_autograd.context() as context_id:
            loss = rpc.rpc_sync("worker1", mpigrad.add, args=(left, right)).sum()
            dist_autograd.backward(context_id, [loss])
            dist_autograd.get_gradients(context_id)


def retained() -> None:
    with dist_autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", mpigrad.mul, args=(leaf(3, 3), leaf(3, 3))).sum()
        for _ in range(4):
            dist_autograd.backward(context_id, [loss], retain_graph=True)


def remote_references() -> None:
    left = leaf(3, 3)
    with dist_autograd.context() as context_id:
        result = leaf(3, 3)
        for worker in ("worker1", "worker2"):
            result = rpc.rpc_sync(worker, combine, args=(left, result))
        reference = rpc.remote("worker1", mpigrad.add, args=(left, result))
        dist_autograd.backward(context_id, [reference.to_here().sum()])


def nested_and_joined() -> None:
    with dist_autograd.context() as context_id:
        tensor = leaf(3, 3)
        both = [rpc.rpc_async(worker, mpigrad.mul, args=(tensor, tensor)) for worker in ("worker1", "worker2")]
        loss = rpc.rpc_sync("worker1", around, args=(4, tensor)).sum()
        dist_autograd.backward(context_id, [loss + sum(future.wait().sum() for future in both)])


def sparse_rows() -> None:
    table = mpigrad.nn.Embedding(64, 8, sparse=True)
    optimizer = mpigrad.optim.SGD(table.parameters(), lr=0.1)
    with dist_autograd.context() as context_id:
        rows = rpc.rpc_sync("worker1", combine, args=(table(mpigrad.arange(16)), mpigrad.ones(16, 8)))
        dist_autograd.backward(context_id, [rows.sum()])
        table.weight.grad = dist_autograd.get_gradients(context_id)[table.weight]
        optimizer.step()


def local_pass() -> None:
    tensor = result = leaf(3, 3)
    for _ in range(20):
        result = (result * tensor + tensor).tanh()
    result.sum().backward()


def main() -> None:
    with in_process_world(WORKERS) as agents, acting_as(agents[0]):
        for _ in range(ROUNDS):
            for work in (empty_calls, calls_on_tensors, one_remote_add, retained, remote_references):
                work()
            for work in (nested_and_joined, sparse_rows, local_pass):
                work()


if __name__ == "__main__":
    main()
