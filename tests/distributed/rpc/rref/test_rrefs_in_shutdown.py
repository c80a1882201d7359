"""RRefs during `shutdown`: those of a worker that enters it first last until all have entered it."""

from __future__ import annotations

import gc
from datetime import timedelta
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

HELD: dict[str, Any] = {}


def hold(rref: Any) -> None:
    HELD["rref"] = rref


def is_leaving() -> bool:
    return rpc._get_current_rpc_agent().closing_protocol._entered


def use_held() -> int:
    rref = HELD.pop("rref")
    return rref.to_here() + rpc.rpc_sync(rref.owner(), value_of, args=(rref,))


def value_of(rref: Any) -> int:
    return rref.local_value()


def check(others: list[str]) -> None:
    """On rank 0, while the others are in shutdown."""
    eventually(lambda: all(rpc.rpc_sync(other, is_leaving) for other in others))
    assert [rpc.rpc_sync(other, use_held) for other in others] == [42] * len(others)


@pytest.mark.mpi(min_size=2)
def test_a_worker_in_shutdown_can_use_and_send_what_it_holds(world) -> None:
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)
    others = [world.worker(rank) for rank in range(1, world.world_size)]
    mine = rpc.RRef(21)
    try:
        if world.rank == 0:
            for other in others:
                rpc.rpc_sync(other, hold, args=(mine,))
        world.barrier()
        if world.rank == 0:
            check(others)
    finally:
        rpc.shutdown()


def answer() -> int:
    return 42


def test_a_fork_that_only_its_children_keep_holds_nobody_up() -> None:
    """The first worker has dropped its own reference; the third one's, made from it, lasts until shutdown ends it."""
    with world_in_memory(3) as agents, acting_as(agents[0]):
        rref = rpc.remote("worker1", answer)
        assert rref.to_here() == 42
        rpc.rpc_sync("worker2", hold, args=(rref,))
        del rref
        gc.collect()
    assert all(agent.rrefs.debug_info()["num_owner_rrefs"] == "0" for agent in agents[:1] + agents[2:])
    assert not agents[1].rrefs.kept
    HELD.clear()


def _leave_with_a_fork_elsewhere(world) -> None:
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)
    mine = rpc.RRef(21)
    if world.rank == 0:
        rpc.rpc_sync("worker1", hold, args=(mine,))
    world.barrier()
    try:
        if world.rank == 0:
            rpc.shutdown(graceful=False)
    finally:
        world.barrier()
        if world.rank != 0:
            rpc.shutdown(graceful=False)
        HELD.clear()
        world.barrier()


@pytest.mark.mpi(min_size=2)
def test_values_that_others_refer_to_when_their_owner_ends_are_reported(world, caplog, monkeypatch) -> None:
    _leave_with_a_fork_elsewhere(world)
    told = "Detected RRef Leaks during shutdown" in caplog.text and "1 fork on rank 1" in caplog.text
    assert told == (world.rank == 0)
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", False)
    if world.rank == 0:
        with pytest.raises(RuntimeError, match=r"Leaking RRef GloballyUniqueId\(created_on=0, .* with 1 fork on rank 1"):
            _leave_with_a_fork_elsewhere(world)
    else:
        _leave_with_a_fork_elsewhere(world)
    assert not rpc._is_current_rpc_agent_set()


@pytest.mark.mpi(min_size=2)
def test_a_graceful_end_leaks_nothing(world, monkeypatch) -> None:
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", False)
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)
    mine = rpc.RRef(world.rank)
    rpc.rpc_sync(world.next_name, hold, args=(mine,))
    rpc.api._wait_all_workers(20)
    rpc.shutdown()  # raises if a value is left that others refer to
    assert not rpc._is_current_rpc_agent_set()
    HELD.clear()


@pytest.mark.mpi(min_size=2)
def test_all_references_can_be_ended_before_shutdown(world) -> None:
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)
    mine = rpc.RRef(world.rank)
    rpc.rpc_sync(world.next_name, hold, args=(mine,))
    rpc.api._wait_all_workers(20)
    rpc._delete_all_user_and_unforked_owner_rrefs(timedelta(seconds=20))
    rpc.api._wait_all_workers(20)
    assert rpc._rref_context_get_debug_info()["num_forks"] == "0"
    with pytest.raises(RuntimeError, match="after deletion"):
        HELD["rref"].to_here()
    rpc.shutdown()
    HELD.clear()
