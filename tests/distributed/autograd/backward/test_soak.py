"""Thousands of contexts leave nothing behind: no object, no counter, no memory. `benchmarks/soak.py` runs more of them."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable

import pytest

import mpigrad.distributed.rpc as rpc
from benchmarks.soak import left_over, one_context, resident
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

WARM_UP, CONTEXTS = 200, 2000


def objects() -> int:
    """How many there are. A context that stayed would count for dozens; new threads of the pool count for some."""
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.deadline(120)
def test_contexts_leave_nothing_behind() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        for _ in range(WARM_UP):
            one_context("worker1")
        before, memory = objects(), resident()
        for _ in range(CONTEXTS):
            one_context("worker1")
        eventually(lambda: [left_of(agent) for agent in agents], equals=[{}, {}])
        eventually(lambda: max(objects() - before - CONTEXTS, 0), equals=0)
        assert resident() - memory < CONTEXTS * 4096, f"{(resident() - memory) / CONTEXTS:.0f} bytes for each context"


def failing(x):
    raise ValueError("as the test wants it")


def other_calls(to: str) -> None:
    """A call that fails, and an RRef outside any context."""
    with pytest.raises(ValueError, match="as the test wants it"):
        rpc.rpc_sync(to, failing, args=(1,))
    rpc.remote(to, max, args=(1, 2)).to_here()


def unreachable(run: Callable[[], object], agents) -> Counter[str]:
    """What only Python's search for cycles would free after `run`."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        eventually(lambda: [left_of(agent) for agent in agents], equals=[{}, {}])
        gc.collect()
        return Counter(type(each).__name__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_contexts_calls_and_errors_are_freed_without_a_search_for_cycles() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        for _ in range(20):
            one_context("worker1")
            other_calls("worker1")
        for what in (one_context, other_calls):
            found = unreachable(lambda: [what("worker1") for _ in range(20)], agents)
            assert all(count < 20 for count in found.values()), (what.__name__, found)


def left_of(agent) -> dict[str, object]:
    with acting_as(agent):
        return left_over()
