"""Thousands of contexts leave nothing behind: no object, no counter, no memory. `benchmarks/soak.py` runs more of them."""

from __future__ import annotations

import gc
import time

import pytest

from benchmarks.soak import left_over, one_context, resident
from mpigrad.distributed.rpc._in_process import acting_as, in_process_world

WARM_UP, CONTEXTS = 200, 2000


def objects() -> int:
    """How many there are. A context that stayed would count for dozens; new threads of the pool count for some."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.deadline(120)
def test_contexts_leave_nothing_behind() -> None:
    with in_process_world(2) as agents, acting_as(agents[0]):
        for _ in range(WARM_UP):
            one_context("worker1")
        before, memory = objects(), resident()
        for _ in range(CONTEXTS):
            one_context("worker1")
        deadline = time.monotonic() + 20
        while any(left_of(agent) for agent in agents) or objects() - before > CONTEXTS:
            assert time.monotonic() < deadline, ([left_of(agent) for agent in agents], objects() - before)
            time.sleep(0.01)
        assert resident() - memory < CONTEXTS * 4096, f"{(resident() - memory) / CONTEXTS:.0f} bytes for each context"


def left_of(agent) -> dict[str, object]:
    with acting_as(agent):
        return left_over()
