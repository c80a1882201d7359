"""Stress: many threads of all ranks make mixed calls to each other. `benchmarks/stress.py` makes more of them."""

from __future__ import annotations

import os

import pytest

import mpigrad.distributed.rpc as rpc
from benchmarks.stress import Stress, unfinished, wait_until_nothing_is_left
from mpigrad.distributed.rpc._transport.receive_pool import kept_bytes

CALLS = int(os.environ.get("MPIGRAD_STRESS_CALLS", "60"))


@pytest.mark.mpi(min_size=4)
@pytest.mark.deadline(55 + CALLS)
def test_mixed_calls_from_many_threads(rpc_world) -> None:
    futures = unfinished()
    rpc_world.barrier()
    Stress(rpc_world.rank, rpc_world.world_size, CALLS).run(50 + CALLS)
    rpc_world.barrier()
    assert wait_until_nothing_is_left(futures) == {}
    agent = rpc.api._get_current_rpc_agent()
    assert agent.quiet() and len(agent.progress.pool.threads) < 120 and kept_bytes() <= 1 << 30
