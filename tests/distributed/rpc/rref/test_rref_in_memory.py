"""RRefs over a transport that delays and reorders, with faults and lost workers: counts always come back to zero."""

from __future__ import annotations

import gc
import random
import time

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc import rref_proxy
from mpigrad.distributed.rpc._protocol import extensions
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._testing.faults import Faults
from mpigrad.distributed.rpc._world.leaving import leave
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


@pytest.fixture(autouse=True)
def nothing_held():
    far.HELD.clear()
    yield
    far.HELD.clear()


def busy(agents) -> list[dict[str, str]]:
    gc.collect()
    found = [{k: v for k, v in agent.rrefs.debug_info().items() if v != "0"} for agent in agents]
    return [each for each in found if each] + [agent.rrefs.deleting for agent in agents if agent.rrefs.deleting]


def settle(agents) -> None:
    eventually(lambda: busy(agents), equals=[])


def wander(rref, path):
    if not path:
        return rref.to_here()
    return rpc.rpc_sync(path[0], wander, args=(rref, path[1:]))


def fork_and_forget(rref, path):
    """Hand an RRef on without waiting, and let go of it at once."""
    if path:
        rpc.rpc_async(path[0], fork_and_forget, args=(rref, path[1:]))
        rpc.remote(path[0], wander, args=(rref, path[1:]))


@pytest.mark.parametrize("seed", range(4))
def test_random_journeys(seed: int) -> None:
    rng = random.Random(seed)
    with world_in_memory(4, fate=lambda *_: rng.random() * 0.003 * (rng.random() < 0.3), seed=seed) as agents:
        for turn in range(25):
            with acting_as(agents[rng.randrange(4)]):
                path = [rng.randrange(4) for _ in range(rng.randrange(5))]
                rref = rpc.RRef(turn) if rng.random() < 0.5 else rpc.remote(rng.randrange(4), far.add, args=(turn, 0))
                if rng.random() < 0.5:
                    assert wander(rref, path) == turn
                else:
                    fork_and_forget(rref, path)
                del rref
        settle(agents)


@pytest.mark.parametrize(
    ("kind", "failures"),
    [("PYTHON_CALL", 6), ("PYTHON_REMOTE_CALL", 6), ("RREF_USER_DELETE", 0), ("PYTHON_RREF_FETCH_CALL", 2)],
)
def test_failed_sends_leave_nothing(kind: str, failures: int) -> None:
    """Faults fail the first two sends of equal messages. Calls differ in the fork they bring; deletions are sent again."""
    with world_in_memory(2) as agents, acting_as(agents[0]):
        mine = rpc.RRef(7)
        agents[0].sender.faults, failed = Faults([kind], {}, 2), 0
        for _ in range(6):
            try:
                assert rpc.rpc_sync(1, wander, args=(mine, [])) == 7
                assert rpc.remote(1, wander, args=(mine, [])).to_here() == 7
            except RuntimeError as error:
                assert "failed intentionally" in f"{error} {error.__cause__}"
                failed += 1
        assert failed == failures
        eventually(lambda: agents[0].sender.faults._failed)
        agents[0].sender.faults = None
        assert rpc.remote(1, wander, args=(mine, [])).to_here() == 7
        del mine
        settle(agents)


def test_deletions_that_come_late_or_early() -> None:
    with world_in_memory(3) as agents, acting_as(agents[0]):
        agents[1].sender.faults = Faults([], {"RREF_USER_DELETE": 0.05, "REPLY": 0.01}, 0)
        for _ in range(10):
            assert rpc.rpc_sync(1, wander, args=(rpc.RRef("x"), [2, 1])) == "x"
        settle(agents)


def test_forks_of_a_worker_that_left_do_not_keep_the_value() -> None:
    with world_in_memory(3, graceful=False) as agents:
        with acting_as(agents[0]):
            mine = rpc.RRef("x")
            rpc.rpc_sync(1, far.hold, args=(mine,))
            assert agents[0].rrefs.debug_info()["num_forks"] == "1"
            for agent in (agents[0], agents[2]):
                agent.lose(1, "it left")
            with pytest.raises(RuntimeError, match="it left|could not find"):
                rpc.rpc_sync(1, far.hold, args=(mine,))
            eventually(lambda: agents[0].rrefs.debug_info()["num_forks"] == "0")


def hand_on(rref, path):
    """Hand an RRef on along a path, at whose end it is held."""
    if path:
        rpc.rpc_sync(path[0], hand_on, args=(rref, path[1:]))
    else:
        far.hold(rref)


@pytest.mark.parametrize(
    ("path", "lost"), [([1, 2], [1]), ([1, 2, 3], [2]), ([1, 2, 3], [1, 2]), ([1, 2, 3], [2, 1]), ([1, 2, 1], [2])]
)
@pytest.mark.parametrize("slow", [0.0, 0.05])
def test_forks_outlive_the_workers_through_which_they_came(path: list[int], lost: list[int], slow: float) -> None:
    def fate(src: int, dst: int, frame: bytes) -> float:
        return slow if frame[0] == MessageType.LEAVE and dst == path[-1] else 0.0

    with world_in_memory(4, fate=fate, graceful=False, rpc_timeout=20) as agents:
        with acting_as(agents[0]):
            hand_on(rpc.RRef("x"), path)
        gc.collect()
        for rank in lost:
            with acting_as(agents[rank]):
                leave(agents[rank], False, 0)
        there = [agent for agent in agents if agent.rank not in lost]
        eventually(lambda: all(len(agent.gone) == len(lost) for agent in there))
        eventually(lambda: not any(min(o.children, default=0) < 0 for a in there for o in a.rrefs.kept.values()))
        (held,) = far.HELD
        far.HELD.clear()
        with acting_as(agents[path[-1]]):
            assert held.to_here() == "x"
            del held
        settle(there)


def test_a_worker_that_leaves_while_it_is_asked_for_orphans_keeps_the_value(monkeypatch) -> None:
    """worker2 is lost before it answers; worker0 asks worker3 again before its own table has noted that loss."""

    def fate(src: int, dst: int, frame: bytes) -> float | None:
        if frame[0] == MessageType.RREF_FORK_REQUEST and dst == 2:
            return None
        return 0.3 if frame[0] == MessageType.LEAVE and (src, dst) == (2, 3) else 0.0

    def slow(agent, rank: int) -> None:
        time.sleep(0.1 if (agent.rank, rank) == (0, 2) else 0)

    monkeypatch.setattr(extensions, "worker_lost_hooks", [slow, *extensions.worker_lost_hooks])
    with world_in_memory(4, fate=fate, graceful=False, rpc_timeout=5) as agents:
        with acting_as(agents[0]):
            hand_on(rpc.RRef("x"), [1, 2, 3])
        gc.collect()
        for rank in (1, 2):
            with acting_as(agents[rank]):
                leave(agents[rank], False, 0)
            eventually(lambda rank=rank: all(rank in agents[other].gone for other in (0, 3)))
        eventually(lambda: not any(min(o.children, default=0) < 0 for o in agents[0].rrefs.kept.values()))
        (held,) = far.HELD
        far.HELD.clear()
        with acting_as(agents[3]):
            assert held.to_here() == "x"
            del held
        settle([agents[0], agents[3]])


def test_a_worker_that_leaves_with_its_forks_frees_the_value() -> None:
    """The workers that are asked for orphans have none, or never answer."""
    with world_in_memory(4, graceful=False) as agents:
        with acting_as(agents[0]):
            rref = rpc.RRef("x")
            for rank in (1, 2):
                rpc.rpc_sync(rank, far.hold, args=(rref,))
            del rref
        held = list(far.HELD)
        far.HELD.clear()
        for rank in (1, 2):
            with acting_as(agents[rank]):
                leave(agents[rank], False, 0)
        settle([agents[0], agents[3]])
        del held


def test_ids_are_unique_among_values_made_here_and_by_calls() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        made = [make(turn) for turn in range(20) for make in (lambda x: rpc.remote(0, far.add, args=(x, 0)), rpc.RRef)]
        assert [each.to_here() for each in made] == [turn for turn in range(20) for _ in range(2)]
        assert len({each._record.number for each in made}) == len(made)
        del made
        settle(agents)


def test_a_slow_owner_frees_the_value_that_nobody_waited_for() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        late = rpc.remote(1, time.sleep, args=(0.3,), timeout=0.02)
        with pytest.raises(RuntimeError, match="timeout"):
            late._get_future().wait()
        del late
        settle(agents)


def test_a_collection_while_the_network_is_locked_may_send() -> None:
    with world_in_memory(2) as agents, acting_as(agents[0]):
        theirs = rpc.remote(1, far.add, args=(1, 2))
        assert theirs.to_here() == 3
        with agents[0].progress.queue.transport.network._lock:
            del theirs  # as the collector would do it, on a thread that is polling for another agent
        settle(agents)


def test_of_a_rank_that_comes_and_goes_only_the_latest_loss_is_kept() -> None:
    with world_in_memory(2) as agents:
        table = agents[0].rrefs
        for epoch in (*range(65_500, 65_536), *range(1, 100)):  # epochs begin again after 65,535
            table._rank_lost(7, epoch)
            assert table.has_lost(7, epoch) and not table.has_lost(7, epoch % 65_535 + 1)
        assert table.has_lost(7, 65_500) and table.has_lost(7, 5) and not table.has_lost(6, 5)
        assert table.lost == {7: 99}


def test_a_pending_method_call_keeps_its_rref_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller may have been interrupted: the frame of `rpc_sync` is gone, the call is not."""
    with world_in_memory(1) as agents, acting_as(agents[0]):
        rref, pending = rpc.RRef([1, 2]), []
        monkeypatch.setattr(rref_proxy.api, "rpc_sync", lambda to, func, *rest: pending.append(func))
        rref.rpc_sync().count(2)
        assert pending[0].rref is rref
        monkeypatch.undo()
        assert rref.rpc_sync().count(2) == 1 and rref_proxy._invoker(list, "count").rref is None


def test_a_call_to_a_value_that_was_freed_ends() -> None:
    """The caller gave up and dropped the RRef before the call was served."""
    with world_in_memory(2, rpc_timeout=0.2) as agents, acting_as(agents[0]):
        with pytest.raises(RuntimeError, match="has been freed"):
            rpc.rpc_sync("worker1", rref_proxy._local_invoke, args=(777, "count", (2,), {}), timeout=20)
