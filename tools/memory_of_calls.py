"""Measure the memory of a recorded call and of a worker's name: mpiexec -n 2 python tools/memory_of_calls.py"""

from __future__ import annotations

import gc
import tracemalloc

from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.worker_info import WorkerInfo

CALLS, NAMES = 2000, 10_000


def twice(a: mpigrad.Tensor) -> mpigrad.Tensor:
    return a * 2


def traced(on: bool) -> int:
    """Start to count allocations on this worker, or return the number of bytes so far."""
    gc.collect()
    if on:
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]


def both(on: bool) -> tuple[int, int]:
    return traced(on), rpc.rpc_sync("worker1", traced, args=(on,))


def main() -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        x = mpigrad.ones(3, 3, requires_grad=True)
        with dist_autograd.context():
            kept = [rpc.rpc_sync("worker1", twice, args=(x,)) for _ in range(100)]
            before = both(True)
            kept += [rpc.rpc_sync("worker1", twice, args=(x,)) for _ in range(CALLS)]
            after = both(False)
        arrays = x.numel() * x.element_size()
        here, there = ((now - then) / CALLS - arrays for now, then in zip(after, before))
        print(f"a recorded call keeps {here / 1e3:.1f} kB at the caller, {there / 1e3:.1f} kB at the callee, and the tensors")
        start = traced(False)
        table = {rank: WorkerInfo(f"worker{rank}", rank) for rank in range(NAMES)}
        names = {info.name: info for info in table.values()}
        print(f"a name in the table of workers takes {(traced(False) - start) / len(names) / 1e3:.2f} kB")
        del kept
    rpc.shutdown()


if __name__ == "__main__":
    main()
