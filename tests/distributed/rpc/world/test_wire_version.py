"""Workers of different wire versions do not start together."""

from __future__ import annotations

import time

import pytest

from mpigrad.distributed.rpc._transport.in_memory import MemoryNetwork
from mpigrad.distributed.rpc._world.device_profiles import start_record
from mpigrad.distributed.rpc._world.static import start_static
from mpigrad.distributed.rpc.options import MPIRpcBackendOptions


@pytest.mark.parametrize(("told", "version"), [(b"old", "1"), (b"new\0wire3", "3")])
def test_a_start_with_another_version_names_the_rank(told: bytes, version: str) -> None:
    network, options = MemoryNetwork(2), MPIRpcBackendOptions()
    network._gathered = {0: start_record("first", options), 1: told}
    pattern = f"rank 1 has wire version {version}, but this worker has 2: all workers need the same mpigrad"
    transport = network.transport(0)
    with pytest.raises(RuntimeError, match=pattern):
        start_static("first", transport, options, time.monotonic() + 5)
    assert transport.closed
