"""Workers in one process, over the in-memory transport, that may send each other tensors of the device of the tests."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from mpigrad._core.rpc.agent import Agent
from mpigrad.distributed.rpc._world.in_process import acting_as, in_process_world
from tests.support.device import same_device

__all__ = ["acting_as", "world_in_memory"]


def world_in_memory(size: int, **arguments: Any) -> AbstractContextManager[list[Agent]]:
    """`in_process_world`; on a GPU, every tensor arrives on the device of the same number."""
    pairs = same_device()
    if pairs:
        arguments["device_maps"] = {f"worker{rank}": pairs for rank in range(size)}
    return in_process_world(size, **arguments)
