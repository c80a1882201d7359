"""Dynamic groups whose ranks join and leave at any time: outdated messages, late answers, names taken twice."""

from __future__ import annotations

import random
import time

import pytest

import mpigrad.distributed.rpc as rpc
from tests.support.eventually import eventually

from .. import support_functions as far

pytestmark = pytest.mark.mpi(min_size=2)


def test_a_rank_that_left_before_another_joined_is_not_waited_for(world) -> None:
    """A rank that joins later finds its JOIN message, so it must also find its LEAVE message."""
    for turn in range(world.world_size):
        if world.rank == turn:
            rpc.init_rpc(f"{world.name}-{turn}", dynamic=True)
            assert [info.id for info in rpc.api._get_worker_infos()] == [world.rank]
            rpc.shutdown(timeout=20)
        world.barrier()


def test_ranks_that_join_and_leave_in_any_order(world) -> None:
    waits = random.Random(world.rank)
    for turn in range(4):
        time.sleep(waits.uniform(0, 0.3))
        rpc.init_rpc(f"{world.name}-{turn}", dynamic=True)
        assert rpc.rpc_sync(world.rank, far.whoami) == f"{world.name}-{turn}"
        rpc.shutdown(graceful=waits.random() < 0.7, timeout=30)
    world.barrier()


def test_a_refused_rank_is_nobodys_member(world) -> None:
    if world.rank == 0:
        rpc.init_rpc("taken", dynamic=True)
    world.barrier()
    if world.rank == 1:
        with pytest.raises(RuntimeError, match="name taken is not unique: rank 0 uses it"):
            rpc.init_rpc("taken", dynamic=True)
        rpc.init_rpc("free", dynamic=True)
        assert rpc.rpc_sync("taken", far.whoami) == "taken"
    world.barrier()
    if world.rank < 2:
        rpc.shutdown(timeout=20)
    world.barrier()


def test_one_of_two_that_want_a_name_at_once_may_have_it(world) -> None:
    """Both join before either knows of the other; the refused one leaves nothing behind."""
    refused = None
    world.barrier()
    if world.rank < 2:
        try:
            rpc.init_rpc("wanted", dynamic=True)
        except RuntimeError as error:
            refused = str(error)
    outcomes = world.gather(refused)[:2]
    assert outcomes[0] is None and "name wanted is not unique: rank 0 uses it, so rank 1 cannot" in outcomes[1]
    if world.rank == 0:
        rpc.shutdown(timeout=20)
    world.barrier()


def test_an_answer_to_an_earlier_life_is_not_taken_for_one_to_a_later(world) -> None:
    """The first calls of both lives go to the same worker, and the first life leaves before its call is answered."""
    if world.rank == 0:
        rpc.init_rpc("server", dynamic=True)
    world.barrier()
    if world.rank == 1:
        rpc.init_rpc("first", dynamic=True)
        rpc.rpc_async("server", far.poll_flag, args=("first life",))
        eventually(lambda: rpc.rpc_sync("server", serving) > 1)
        rpc.shutdown(graceful=False)
        rpc.init_rpc("second", dynamic=True)
        fut = rpc.rpc_async("server", far.poll_flag, args=("second life",))
        for index in range(5):
            assert rpc.rpc_sync("server", far.add, args=(index, 1)) == index + 1
        rpc.rpc_sync("server", far.set_flag, args=("first life",))
        rpc.rpc_sync("server", far.sleep, args=(0.1,))
        assert not fut.done()
        rpc.rpc_sync("server", far.set_flag, args=("second life",))
        assert fut.wait() == "second life"
    world.barrier()
    if world.rank < 2:
        rpc.shutdown(timeout=20)
    world.barrier()
    far.FLAGS.clear()


def serving() -> int:
    """How many calls run here, this one included."""
    return len(rpc.api._get_current_rpc_agent().server.running)


def test_forks_of_an_earlier_life_do_not_meet_rrefs_of_a_later(world) -> None:
    """The server still holds a value that the first life made; the second makes another."""
    if world.rank == 0:
        rpc.init_rpc("server", dynamic=True)
    world.barrier()
    if world.rank == 1:
        for name in ("first", "second"):
            rpc.init_rpc(name, dynamic=True)
            made = rpc.remote("server", far.echo, args=(name,))
            assert made.to_here() == name
            rpc.rpc_sync("server", far.hold, args=(made,))
            del made
            rpc.shutdown(timeout=20)
    world.barrier()
    if world.rank == 0:
        assert [held.local_value() for held in far.HELD] == ["first", "second"]
        rpc.shutdown(timeout=20)
    world.barrier()
    far.HELD.clear()


def hold_there(rref, to) -> None:
    rpc.rpc_sync(to, far.hold, args=(rref,))


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize("graceful", [True, False])
def test_a_fork_outlives_the_member_through_which_it_came(world, graceful: bool) -> None:
    """The owner has dropped its RRef and the worker that sent the fork has left: only the fork keeps the value."""
    if world.rank < 3:
        rpc.init_rpc(world.name, dynamic=True)
    world.barrier()
    if world.rank == 0:
        eventually(lambda: len(rpc.api._get_worker_infos()) == 3)
        rpc.rpc_sync(1, hold_there, args=(rpc.RRef("x"), 2))
    world.barrier()
    if world.rank == 1:
        rpc.shutdown(graceful=graceful, timeout=20)
    world.barrier()
    if world.rank == 0:
        agent = rpc.api._get_current_rpc_agent()
        eventually(lambda: 1 in agent.gone and not any(min(each.children) < 0 for each in agent.rrefs.kept.values()))
        assert len(agent.rrefs.kept) == 1
    world.barrier()
    if world.rank == 2:
        assert far.HELD.pop().to_here(timeout=20) == "x"
    world.barrier()
    if world.rank == 0:
        eventually(lambda: not agent.rrefs.kept)
    world.barrier()
    if world.rank in (0, 2):
        rpc.shutdown(timeout=20)
    world.barrier()
