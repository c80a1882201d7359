"""Tests that need two GPUs, real ones or those of the CPU-backed CUDA runtime: all are marked `gpu`, for `-m "not gpu"`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mpigrad.testing import World

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.gpu)
            if item.get_closest_marker("deadline") is None:
                item.add_marker(pytest.mark.deadline(300))  # kernels are compiled when they are first used


@pytest.fixture
def start(world: World) -> Iterator[Callable[..., World]]:
    """Start RPC with options (`maps` for every other worker, and for itself); shut down gracefully afterwards."""
    import mpigrad.distributed.rpc as rpc

    begun = []

    def begin(maps: Any = None, own: Any = None, **options: Any) -> World:
        given = rpc.MPIRpcBackendOptions(**options)
        for rank in range(world.world_size):
            chosen = own if rank == world.rank else maps
            if chosen is not None:
                given.set_device_map(world.worker(rank), chosen)
        rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, rpc_backend_options=given)
        begun.append(True)
        return world

    yield begin
    if begun:
        rpc.shutdown()


@pytest.fixture
def unclaimed(world: World) -> World:
    """Ranks none of which has used a GPU for others, as new processes."""
    from mpigrad.distributed._gpu import claims

    for file in claims._held.values():
        if file is not None:
            os.close(file)
    claims._held.clear()
    world.barrier()
    return world


SWAPPED = {0: 1, 1: 0}


@pytest.fixture
def swapped(start: Callable[..., World]) -> World:
    """A world in which cuda:0 of each worker is cuda:1 of every other (and of itself), and the other way round."""
    return start(SWAPPED, SWAPPED)
