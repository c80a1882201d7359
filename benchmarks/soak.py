"""Soak: many contexts, each with calls, an RRef and a backward pass; memory and counters must not grow with them.

    mpiexec -n 2 python -m benchmarks.soak 20000

Every rank prints the memory it used after each twentieth of the contexts.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from typing import Any

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc.api import _rref_context_get_debug_info

_PAGE = os.sysconf("SC_PAGESIZE")


def resident() -> int:
    """The memory that this process uses, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * _PAGE


def twice(x: mpigrad.Tensor) -> mpigrad.Tensor:
    """A function whose argument is used twice, so that two gradients meet on this worker."""
    y = x * x
    return y + y.sin()


def one_context(to: str) -> None:
    """A context with two calls that share an input, an RRef and a pass through all of them."""
    a = mpigrad.ones(64, requires_grad=True)
    with dist_autograd.context() as context_id:
        y = a * 2
        far = rpc.remote(to, twice, args=(y,))
        loss = (rpc.rpc_sync(to, twice, args=(y,)) + far.to_here() + y).sum()
        dist_autograd.backward(context_id, [loss])
        assert len(dist_autograd.get_gradients(context_id)) == 1


def left_over() -> dict[str, Any]:
    """The objects that this worker still holds; there should be none between contexts."""
    found = {**dist_autograd._get_debug_info(), **_rref_context_get_debug_info()}
    found["num_unacknowledged_releases"] = dist_autograd._num_unacknowledged_releases()
    return {name: value for name, value in found.items() if int(value)}


def soak(to: str, contexts: int, report: int) -> list[int]:
    """Run contexts; returns the memory used after each `report` of them."""
    found = []
    for number in range(1, contexts + 1):
        one_context(to)
        if number % report == 0:
            gc.collect()
            found.append(resident())
    return found


def main() -> None:
    """Run the soak test on every rank, each with the next one."""
    from mpi4py import MPI

    contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
    rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    began = time.perf_counter()
    found = soak(f"worker{(rank + 1) % size}", contexts, max(1, contexts // 20))
    seconds = time.perf_counter() - began
    rpc.shutdown()
    print(f"rank {rank}: {contexts} contexts in {seconds:.1f} s; MB:", *(round(each / 1e6, 1) for each in found))


if __name__ == "__main__":
    main()
