"""Ranks that do not come to `init_rpc` are named; those that come late leave nothing behind."""

from __future__ import annotations

import re
import time

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._process.logs import get_logger
from mpigrad.distributed._mpi import mpi
from mpigrad.distributed.rpc._world import roll_call
from mpigrad.distributed.rpc._world.roll_call import RollCall
from tests.support.eventually import eventually


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll_call, "HERE_AFTER", 0.02)
    monkeypatch.setattr(roll_call, "SAY_AFTER", 1000.0)


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(get_logger("rpc"), "warning", lambda text, *args: said.append(text % args))
    return said


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("late", ["last", "first"])
def test_a_line_names_who_is_missing(world, quick, lines: list[str], late: str) -> None:
    comm, side, last = mpi().COMM_WORLD.Dup(), mpi().COMM_WORLD.Dup(), world.world_size - 1
    absent, witness = (last, 0) if late == "last" else (0, 1)
    if world.rank == absent:
        side.recv(source=witness)
    own = RollCall(comm)
    look = own.look

    def look_and_tell() -> None:
        """The line is written when all others are known to be here, however slow they are; then the absent rank comes."""
        look()
        waited = own._sent is not None  # before that `look` does nothing, and of 2 ranks all but the absent one are here at once
        if waited and len(own.here) == last and roll_call.SAY_AFTER:
            roll_call.SAY_AFTER = 0.0
            look()
            side.send(None, absent)

    if world.rank == witness:
        own.look = look_and_tell  # type: ignore[method-assign]
    own.meet(time.monotonic() + 30)
    own.duplicate.Free()
    comm.Barrier()
    left = comm.Iprobe(mpi().ANY_SOURCE, mpi().ANY_TAG)
    comm.Free()
    side.Free()
    assert not left
    assert len(lines) == (world.rank == witness)
    if lines:
        assert f"for rank {absent} of {world.world_size}. Have they ended" in lines[0]
        assert "dynamic=True" in lines[0]


@pytest.mark.mpi(min_size=2)
def test_the_error_names_who_is_missing(world, quick, lines: list[str]) -> None:
    comm = mpi().COMM_WORLD.Dup()
    if world.rank == world.world_size - 1:
        world.barrier()
        request = comm.Idup()[1]  # so that nothing is left under way
        eventually(request.Test)
    else:
        with pytest.raises(TimeoutError, match="for rank|for other ranks") as caught:
            RollCall(comm).meet(time.monotonic() + 0.5)
        if world.rank == 0:
            assert re.search(rf"for ranks? .*\b{world.world_size - 1} of {world.world_size}\.", str(caught.value))
        world.barrier()


@pytest.mark.mpi(min_size=2)
def test_without_a_size_the_world_is_all_ranks(world) -> None:
    rpc.init_rpc(world.name)
    assert [info.name for info in rpc.api._get_worker_infos()] == [world.worker(rank) for rank in range(world.world_size)]
    assert rpc.api._get_current_rpc_agent().static
    rpc.shutdown()


@pytest.mark.mpi(min_size=1)
def test_forms_of_dynamic_groups(world) -> None:
    for form in ({"dynamic": True}, {"rank": world.rank}):
        world.barrier()
        rpc.init_rpc(world.name, **form)
        assert not rpc.api._get_current_rpc_agent().static
        rpc.shutdown()
    with pytest.raises(ValueError, match="a dynamic world has no world_size"):
        rpc.init_rpc(world.name, world_size=world.world_size, dynamic=True)
