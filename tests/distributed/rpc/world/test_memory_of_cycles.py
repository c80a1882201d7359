"""RPC started and ended again and again: what is large is freed at once, not when the garbage collector finds it."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

import mpigrad.distributed.rpc as rpc


@pytest.mark.mpi(min_size=1)
def test_the_end_of_rpc_frees_its_buffers(world) -> None:
    def cycles(count: int) -> None:
        for _ in range(count):
            rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.world_size)
            rpc.shutdown()

    cycles(2)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        cycles(5)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert grown < 5 * 200_000, f"{grown / 5:.0f} bytes a cycle; the ring of receives alone has 1 MiB"
