"""What a worker keeps of each other worker before the first message."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._transport.in_memory import MemoryNetwork
from mpigrad.distributed.rpc._world.device_profiles import start_record
from mpigrad.distributed.rpc._world.static import start_static
from mpigrad.distributed.rpc.options import MPIRpcBackendOptions

MOST = 200  # bytes


def bytes_after_start(size: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """The memory of one agent in a world of `size` workers, of which the others do not exist."""
    options, network = MPIRpcBackendOptions(), MemoryNetwork(1)
    records = [start_record(f"worker{rank}", options) for rank in range(size)]
    monkeypatch.setattr(network, "gather", lambda *_: records)
    gc.collect()
    tracemalloc.start()
    try:
        agent = start_static("worker0", network.transport(0), options, time.monotonic() + 10)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        agent.progress.pool.stop()


@pytest.mark.deadline(120)
def test_a_worker_keeps_less_than_200_bytes_of_each_other_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_after_start(10, monkeypatch)  # what is made once
    few, many = bytes_after_start(1_000, monkeypatch), bytes_after_start(20_000, monkeypatch)
    assert (many - few) / 19_000 < MOST


@pytest.mark.mpi(min_size=2)
def test_the_exchange_of_names_leaves_nothing_behind(rpc_world: Any) -> None:
    assert not rpc.api._get_current_rpc_agent().transport._gathers
