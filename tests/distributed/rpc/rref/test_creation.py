"""RRefs whose creation failed, their ids and texts, and what the debug counters say, as in PyTorch."""

from __future__ import annotations

import gc
import re
import threading
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc import internal
from mpigrad.distributed.rpc._testing.faults import Faults
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

LATE = "RRef creation via rpc.remote\\(\\) timed out, and it is possible that the RRef on the owner node does not exist."
GATE = threading.Event()
HELD: list[Any] = []


def wait_for_gate() -> bool:
    return GATE.wait(30)


def open_gate() -> None:
    GATE.set()


def hold(rref: Any) -> str:
    HELD.append(rref)
    return str(rref)


def drop() -> None:
    HELD.clear()
    gc.collect()


def pending() -> tuple[str, str]:
    info = rpc._rref_context_get_debug_info()
    return info["num_pending_users"], info["num_pending_futures"]


def owners_and_forks() -> tuple[str, str]:
    info = rpc._rref_context_get_debug_info()
    return info["num_owner_rrefs"], info["num_forks"]


def check_unusable(rref: Any, to: str) -> None:
    for use in (
        rref.to_here,
        rref._serialize,
        lambda: rpc.rpc_async(to, hold, args=(rref,)),
        lambda: rref.rpc_sync().bit_length(),
        lambda: rref.rpc_async().bit_length().wait(),
        lambda: rref.remote().bit_length(),
    ):
        with pytest.raises(RuntimeError, match=LATE):
            use()


@pytest.mark.mpi(min_size=1)
def test_creation_that_timed_out(rpc_world) -> None:
    GATE.clear()
    rpc_world.barrier()
    for to in {rpc_world.next_name, rpc_world.name}:
        rref = rpc.remote(to, wait_for_gate, timeout=0.05)
        with pytest.raises(RuntimeError, match="RPC ran for more than"):
            rref._get_future().wait()
        eventually(pending, equals=("0", "0"))  # while the function still runs
        check_unusable(rref, rpc_world.next_name)
    slow = rpc.remote(rpc_world.next_name, wait_for_gate)
    if rpc_world.world_size > 1:
        with pytest.raises(RuntimeError, match="RPC ran for more than"):
            slow.to_here(timeout=0.05)
    rpc_world.barrier()
    open_gate()
    assert slow.to_here() is True
    del rref, slow
    gc.collect()
    rpc_world.barrier()
    eventually(owners_and_forks, equals=("0", "0"))


@pytest.mark.mpi(min_size=1)
def test_a_left_over_rref_of_shutdown(rpc_world) -> None:
    """The texts after deletion; `shutdown` itself does the same."""
    if rpc_world.world_size == 1:
        rref = rpc.RRef(1)
        rpc._delete_all_user_and_unforked_owner_rrefs()
        assert rref.to_here() == 1
        return
    rref = rpc.remote(rpc_world.next_name, abs, args=(-1,))
    assert rref.to_here() == 1
    rpc._delete_all_user_and_unforked_owner_rrefs()
    ids = r"UserRRef\(rref_id=GloballyUniqueId\(.*\), fork_id=GloballyUniqueId\(.*\)\) has been deleted. "
    with pytest.raises(RuntimeError, match=ids + r"Cannot call to_here\(\) on it after deletion."):
        rref.to_here()
    sent = lambda: rpc.rpc_sync(rpc_world.next_name, hold, args=(rref,))
    for pickled in (rref._serialize, lambda: internal.serialize(rref), sent):
        with pytest.raises(RuntimeError, match=ids + "Cannot call fork an UserRRef after deletion."):
            pickled()


@pytest.mark.mpi(min_size=2)
def test_shared_rrefs_are_counted_until_the_last_user_is_gone(rpc_world) -> None:
    mine = rpc.RRef(7)
    assert owners_and_forks() == ("0", "0")  # not counted yet
    rpc_world.barrier()
    rpc.rpc_sync(rpc_world.next_name, hold, args=(mine,))
    assert owners_and_forks() == ("1", "1")
    rpc_world.barrier()
    drop()
    eventually(owners_and_forks, equals=("0", "0"))
    assert mine.to_here() == 7
    rpc_world.barrier()


@pytest.mark.parametrize("to", [0, 1])
def test_creation_that_could_not_be_sent(to: int) -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        agents[0].sender.faults = Faults(["PYTHON_REMOTE_CALL"], {}, 100)
        rref = rpc.remote(to, wait_for_gate)
        eventually(pending, equals=("0", "0"))
        check_unusable(rref, "worker1")
        agents[0].sender.faults = None
        del rref


def test_ids_are_counted_from_zero_without_gaps() -> None:
    for _ in range(2):  # again in the next world
        with world_in_memory(2) as agents, acting_as(agents[0]):
            own, far = rpc.RRef(0), rpc.remote(1, abs, args=(-1,))
            unique = "GloballyUniqueId(created_on=0, local_id={})"
            assert str(own) == f"OwnerRRef({unique.format(0)})"
            assert str(far) == f"UserRRef(RRefId = {unique.format(1)}, ForkId = {unique.format(2)})"
            assert rpc.rpc_sync(1, hold, args=(own,)) == f"UserRRef(RRefId = {unique.format(0)}, ForkId = {unique.format(3)})"
            rpc.rpc_sync(1, drop)
            assert str(rpc.RRef(0)) == f"OwnerRRef({unique.format(4)})"
            said = (
                f"For UserRRef(rref_id={unique.format(1)}, fork_id={unique.format(2)}), can't call localValue() on user "
                "WorkerInfo(id=0, name=worker0). Call it on owner WorkerInfo(id=1, name=worker1)"
            )
            with pytest.raises(RuntimeError, match=re.escape(said)):
                far.local_value()


def test_a_call_to_a_worker_that_left_is_a_failed_future() -> None:
    with world_in_memory(2, graceful=False) as agents, acting_as(agents[0]):
        agents[0].lose(1, "WorkerInfo(id=1, name=worker1) has left this RPC world")
        for to in ("worker1", 1):
            fut = rpc.rpc_async(to, abs, args=(-1,))
            with pytest.raises(RuntimeError, match="has left this RPC world"):
                fut.wait()
            with pytest.raises(RuntimeError, match="has left this RPC world"):
                rpc.rpc_sync(to, abs, args=(-1,))
        with pytest.raises(RuntimeError, match="has left this RPC world"):
            rpc.remote(1, abs, args=(-1,)).to_here()
        with pytest.raises(RuntimeError, match="could not find destination"):
            rpc.rpc_async("worker7", abs, args=(-1,))


def test_shutdown_ends_rrefs_by_the_name_in_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []
    monkeypatch.setattr(rpc.api, "_delete_all_user_and_unforked_owner_rrefs", lambda: ended.append(1))
    with world_in_memory(2) as agents, acting_as(agents[0]):
        rref = rpc.remote(1, abs, args=(-1,))
        assert rref.to_here() == 1
    assert ended == [1, 1] and not rref._record.deleted
    assert "Leaking RRef GloballyUniqueId(created_on=0, local_id=0) with 1 fork on rank 0" in agents[1].rrefs.leaks()
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", False)
    with pytest.raises(RuntimeError, match="Leaking RRef"):
        rpc.api._report_leaks(agents[1].rrefs.leaks())
