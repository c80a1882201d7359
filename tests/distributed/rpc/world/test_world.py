"""Worlds: starting, names, leaving gracefully or not, again, in parts, and dynamic groups."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed._mpi import mpi
from mpigrad.distributed.rpc._world import leaving
from mpigrad.distributed.rpc._world.start import check_place
from tests.support.eventually import eventually
from tests.support.in_memory import world_in_memory

from .. import support_functions as far


def start(world, **kwargs) -> None:
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size, **kwargs)


def test_world_of_one_rank() -> None:
    rpc.init_rpc("alone", rank=0, world_size=1)
    assert rpc.rpc_sync("alone", far.add, args=(1, 2)) == 3
    assert rpc.rpc_async(0, far.whoami).wait() == "alone"
    rpc.shutdown()


def test_a_worker_whose_shutdown_is_interrupted_sends_no_message_that_could_come_after_the_end() -> None:
    sent: list[int] = []

    def fate(src: int, dst: int, frame: bytes) -> float:
        sent.append(src)
        return 0.0

    with world_in_memory(2, fate=fate) as agents:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                agents[1].closing_protocol.run(time.monotonic())
        assert not sent  # the coordinator asks, and its CLOSE is the last message


class OtherOptions(rpc.RpcBackendOptions):
    """Options of no backend that is known."""


def test_arguments_are_checked() -> None:
    cases = [
        (RuntimeError, "Worker name must match", {"name": "a b"}),
        (RuntimeError, "shorter than 128", {"name": "a" * 128}),
        (RuntimeError, "non-empty", {"name": ""}),
        (TypeError, "must be a member of BackendType", {"backend": "MPI"}),
        (TypeError, "must be an instance of RpcBackendOptions", {"rpc_backend_options": 3}),
        (TypeError, "Could not infer backend for options", {"rpc_backend_options": OtherOptions()}),
        (TypeError, "must be a `TensorPipeRpcB", {"rpc_backend_options": OtherOptions(), "backend": rpc.BackendType.MPI}),
        (RuntimeError, "`world_size` must be an integer", {"world_size": "2"}),
        (RuntimeError, "given world_size=77, but the MPI communicator has", {"world_size": 77}),
    ]
    for error, pattern, given in cases:
        with pytest.raises(error, match=pattern):
            rpc.init_rpc(**{"name": "fine", "rank": 0, "world_size": 1, **given})
    for given, pattern in (
        ({"num_worker_threads": 0}, "must be positive, got 0"),
        ({"rpc_timeout": -1}, "non-negative"),
    ):
        with pytest.raises(RuntimeError, match=pattern):
            rpc.MPIRpcBackendOptions(**given)
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        rpc.MPIRpcBackendOptions(rpc_timeout=timedelta(0))
    assert not rpc._is_current_rpc_agent_set()


def test_a_world_that_ids_have_no_room_for_is_refused() -> None:
    class Huge:
        Get_size, Get_rank = staticmethod(lambda: 20_000_000), staticmethod(lambda: 0)

    for size in (17_000_000, None):
        with pytest.raises(RuntimeError, match=r"at most 16,777,216 workers.* would have (17|20),000,000"):
            check_place(0, size, Huge())


def test_uninitialised_use_is_an_error() -> None:
    for use in (
        lambda: rpc.rpc_sync("x", far.nothing),
        lambda: rpc.rpc_async("x", far.nothing),
        rpc.shutdown,
        rpc.get_worker_info,
    ):
        with pytest.raises(
            RuntimeError, match="RPC has not been initialized. Call mpigrad.distributed.rpc.init_rpc first."
        ):
            use()
    with pytest.raises(RuntimeError, match="Current RPC agent is not set"):
        rpc.get_rpc_timeout()


@pytest.mark.mpi(min_size=2)
def test_one_rank_of_a_larger_job_can_be_alone(world) -> None:
    if world.rank == 0:
        rpc.init_rpc("alone", rank=0, world_size=1)
        assert rpc.rpc_sync("alone", far.whoami) == "alone"
        rpc.shutdown()
    world.barrier()


@pytest.mark.mpi(min_size=2)
def test_initialising_twice_and_again_after_shutdown(world) -> None:
    for _ in range(3):
        start(world)
        with pytest.raises(RuntimeError, match="RPC is already initialized"):
            start(world)
        assert rpc.rpc_sync(world.next_name, far.whoami) == world.next_name
        rpc.shutdown()
        assert not rpc._is_current_rpc_agent_set()


@pytest.mark.mpi(min_size=2)
def test_names_must_be_unique(world) -> None:
    with pytest.raises(RuntimeError, match="RPC worker name same is not unique: ranks 0 and 1 both use it"):
        rpc.init_rpc("same", rank=world.rank, world_size=world.world_size)
    world.barrier()
    start(world)
    rpc.shutdown()


@pytest.mark.mpi(min_size=2)
def test_given_rank_is_checked(world) -> None:
    with pytest.raises(RuntimeError, match=f"given rank={world.next_rank}, but this process is rank {world.rank}"):
        rpc.init_rpc(world.name, rank=world.next_rank, world_size=world.world_size)
    world.barrier()


@pytest.mark.mpi(min_size=2)
def test_graceful_shutdown_serves_until_all_are_done(world) -> None:
    start(world)
    if world.rank == 0:
        for _ in range(5):
            time.sleep(0.02)
            assert rpc.rpc_sync(world.next_name, far.whoami) == world.next_name
    rpc.shutdown()


LATE: list[int] = []


def later_chain(depth: int, to: int, back: int) -> None:
    """Start another call after this one has been answered, from a thread that is not waited for."""
    LATE.append(depth)
    if depth:
        time.sleep(0.005)
        rpc.rpc_async(to, later_chain, args=(depth - 1, back, to))


@pytest.mark.mpi(min_size=2)
def test_graceful_shutdown_waits_for_calls_that_start_calls(world) -> None:
    LATE.clear()
    start(world)
    if world.rank == 0:
        rpc.rpc_async(1, later_chain, args=(20, 0, 1))
    rpc.shutdown()
    counts = world.gather(len(LATE))
    assert sum(counts) == 21


@pytest.mark.mpi(min_size=2)
def test_shutdown_in_several_threads(world) -> None:
    """One of them does it. The others wait for that, or come too late."""
    def end() -> None:
        try:
            rpc.shutdown(timeout=30)
            said.append("")
        except RuntimeError as error:
            said.append(str(error))

    for _ in range(3):
        start(world)
        said: list[str] = []
        threads = [threading.Thread(target=end) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "" in said and all(not each or "has not been initialized" in each for each in said)
        assert not rpc._is_current_rpc_agent_set()


@pytest.mark.mpi(min_size=2)
def test_shutdown_timeout(world, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "leave_mpi_unfinalised", lambda: True)  # this process goes on, and all ranks end well
    start(world)
    if world.rank == 0:
        with pytest.raises(RuntimeError, match="graceful shutdown did not end within 0.2 s"):
            rpc.shutdown(timeout=0.2)
        world.barrier()
    else:
        world.barrier()
        rpc.shutdown(graceful=False)
    assert not rpc._is_current_rpc_agent_set()


@pytest.mark.mpi(min_size=2)
def test_calls_to_a_worker_that_left_without_grace_fail_soon(world) -> None:
    start(world)
    world.barrier()
    if world.rank == 1:
        rpc.shutdown(graceful=False)
    else:
        began = time.monotonic()
        with pytest.raises(RuntimeError, match="has left"):
            while True:
                rpc.rpc_sync("worker1", far.nothing)
        assert time.monotonic() - began < 30
    world.barrier()
    if world.rank != 1:
        rpc.shutdown(timeout=20)
    world.barrier()
    start(world)
    assert rpc.rpc_sync(world.next_name, far.whoami) == world.next_name
    rpc.shutdown()


@pytest.mark.mpi(min_size=2)
def test_calls_under_way_fail_when_the_worker_leaves(world) -> None:
    start(world)
    if world.rank == 0:
        fut = rpc.rpc_async(1, far.poll_flag, args=("never",))
        world.barrier()
        with pytest.raises(RuntimeError, match="WorkerInfo\\(id=1, name=worker1\\) has left"):
            fut.wait()
        rpc.shutdown(graceful=False)
    else:
        world.barrier()
        eventually(lambda: world.rank != 1 or rpc.api._get_current_rpc_agent().server.running)
        rpc.shutdown(graceful=False)
        far.set_flag("never")
        eventually(lambda: not any(thread.name.startswith("mpigrad-") for thread in threading.enumerate()))
    world.barrier()
    far.FLAGS.clear()


@pytest.mark.mpi(min_size=4)
def test_disjoint_worlds_on_sub_communicators(world) -> None:
    half = mpi().COMM_WORLD.Split(world.rank % 2, world.rank)
    rpc.init_rpc(
        f"half{half.rank}",
        rank=half.rank,
        world_size=half.size,
        rpc_backend_options=rpc.MPIRpcBackendOptions(comm=half),
    )
    got = rpc.api._all_gather(world.rank)
    assert got == {f"half{i}": 2 * i + world.rank % 2 for i in range(half.size)}
    rpc.shutdown()
    half.Free()


@pytest.mark.mpi(min_size=2)
def test_dynamic_group_join_call_leave_and_join_again(world) -> None:
    if world.rank == 0:
        rpc.init_rpc("first", rank=0)
    world.barrier()
    if world.rank != 0:
        rpc.init_rpc(world.name, rank=world.rank)
        assert rpc.rpc_sync("first", far.whoami) == "first"
    world.barrier()
    if world.rank == 0:
        assert rpc.rpc_sync("worker1", far.whoami) == "worker1"
    world.barrier()
    if world.rank == 1:
        rpc.shutdown()
    world.barrier()
    if world.rank == 0:
        with pytest.raises(RuntimeError, match="has left"):
            rpc.rpc_sync("worker1", far.whoami)
    world.barrier()
    if world.rank == 1:
        rpc.init_rpc("second", rank=1)
    world.barrier()
    if world.rank == 0:
        assert rpc.rpc_sync("second", far.whoami) == "second"
        assert rpc.rpc_sync(1, far.whoami) == "second"
    world.barrier()
    rpc.shutdown(graceful=world.rank != 1)
    world.barrier()


@pytest.mark.mpi(min_size=2)
def test_dynamic_group_refuses_a_name_twice(world) -> None:
    if world.rank == 0:
        rpc.init_rpc("unique", rank=0)
    world.barrier()
    if world.rank == 1:
        with pytest.raises(RuntimeError, match="name unique is not unique: rank 0 uses it"):
            rpc.init_rpc("unique", rank=1)
        assert not rpc._is_current_rpc_agent_set()
    world.barrier()
    if world.rank == 0:
        rpc.shutdown()
    world.barrier()


@pytest.mark.mpi(min_size=2)
def test_leaving_a_dynamic_group_finishes_calls_in_both_directions(world) -> None:
    if world.rank < 2:
        rpc.init_rpc(world.name, rank=world.rank)
        name = world.worker(1 - world.rank)
        futures = [rpc.rpc_async(name, far.sleep, args=(0.02,)) for _ in range(5)]
        rpc.shutdown(timeout=30)
        assert [fut.value() for fut in futures] == [0.02] * 5
    world.barrier()
