"""Graceful shutdown and `_all_gather` take trees: few messages for each worker, also when workers are lost or late."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._transport.in_memory import MemoryTransport
from mpigrad.distributed.rpc._world import gather, shutdown
from mpigrad.distributed.rpc._world.leaving import leave
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


def together(agents: list[Any], run: Any) -> list[Any]:
    """What `run(rank)` returns, or raises, on all workers at the same time."""
    found: list[Any] = [None] * len(agents)

    def one(rank: int, agent: Any) -> None:
        with acting_as(agent):
            try:
                found[rank] = run(rank)
            except Exception as error:
                found[rank] = error

    threads = [threading.Thread(target=one, args=each) for each in enumerate(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
    return found


@pytest.mark.parametrize("size", [1, 2, 17, 20])
def test_all_gather_gives_all_objects_to_all(size: int) -> None:
    with world_in_memory(size, seed=5) as agents:
        expected = {f"worker{rank}": rank * rank for rank in range(size)}
        assert together(agents, lambda rank: rpc.api._all_gather(rank * rank)) == [expected] * size
        some = [f"worker{rank}" for rank in range(0, size, 2)]
        found = together(agents, lambda rank: rank % 2 or rpc.api._all_gather(rank, some))
        assert found[::2] == [{f"worker{rank}": rank for rank in range(0, size, 2)}] * len(some)
        assert not any(gather._of(agent).open for agent in agents)


def test_all_gather_takes_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "FAN_OUT", 2)
    calls: Counter[tuple[int, int]] = Counter()

    def count(src: int, dst: int, frame: bytes) -> float:
        if frame[0] == MessageType.PYTHON_CALL:
            calls[src, dst] += 1
        return 0.0

    with world_in_memory(9, fate=count) as agents:
        assert together(agents, lambda rank: rpc.api._all_gather(rank)) == [{f"worker{r}": r for r in range(9)}] * 9
    assert sum(calls.values()) == 16  # 8 edges, in both directions
    assert max(Counter(dst for _, dst in calls.elements()).values()) == 3


def test_all_gather_names_the_worker_that_is_missing() -> None:
    with world_in_memory(4, graceful=False) as agents:
        found = together(agents[:3], lambda rank: rpc.api._all_gather(rank, None, 0.3))
        assert "timed out in _all_gather after 0.30 seconds, waiting for ['worker3']" in str(found[0])
        assert all(isinstance(each, RuntimeError) for each in found)


def test_each_worker_sends_few_messages_in_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown, "FAN_OUT", 3)
    seen: Counter[tuple[int, int, int]] = Counter()

    def count(src: int, dst: int, frame: bytes) -> float:
        seen[frame[0], src, dst] += 1
        return 0.0

    with world_in_memory(16, fate=count) as agents:
        with acting_as(agents[3]):
            assert rpc.rpc_sync("worker9", far.add, args=(1, 2)) == 3
        seen.clear()
    edges = {(src, dst) for kind, src, dst in seen if kind == MessageType.PROBE}
    assert len(edges) == 15
    assert max(Counter(src for src, _ in edges).values()) == 3
    assert {(dst, src) for kind, src, dst in seen if kind == MessageType.REPORT} == edges
    assert Counter(dict.fromkeys(edges, 1)) == Counter({(s, d): n for (k, s, d), n in seen.items() if k == MessageType.CLOSE})


def test_shutdown_ends_when_workers_die_that_have_to_pass_the_news_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """worker0, worker1 and worker9 do not pass on that all may leave, as if they had died; in jobs that survive deaths."""
    monkeypatch.setattr(shutdown, "FAN_OUT", 2)
    monkeypatch.setattr(MemoryTransport, "reports_losses", True)
    sent: Counter[tuple[int, int]] = Counter()

    def die(src: int, dst: int, frame: bytes) -> float | None:
        sent[frame[0], src] += 1
        below = dst > src if src else dst != 15
        return None if frame[0] == MessageType.CLOSE and src in (0, 1, 9) and below else 0.0

    with world_in_memory(16, fate=die) as agents:
        assert len(agents) == 16
    assert all(sent[MessageType.CLOSE, rank] <= 2 * 4 + 2 for rank in range(16))  # neighbours at 4 distances, and the tree
    assert not any(sent[MessageType.LEAVE, rank] for rank in range(16))


@pytest.mark.parametrize("lost", [1, 5, 0])
def test_shutdown_goes_on_when_a_worker_is_lost_in_a_round(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown, "FAN_OUT", 2)
    with world_in_memory(9, graceful=False) as agents:
        others = [agent for agent in agents if agent.rank != lost]
        threads = [threading.Thread(target=_leave, args=(agent,)) for agent in others]
        for thread in threads:
            thread.start()
        eventually(lambda: all(agent.closing_protocol._entered for agent in others))
        _leave(agents[lost], False)
        for thread in threads:
            thread.join(20)
        assert all(agent.progress.pool.stopping for agent in agents)


def test_shutdown_goes_on_when_only_the_worker_above_knows_of_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdown, "FAN_OUT", 2)
    monkeypatch.setattr(shutdown, "PATIENCE", 0.2)

    def lose_news(src: int, dst: int, frame: bytes) -> float | None:
        return None if frame[0] == MessageType.LEAVE and src == 2 and dst != 1 else 0.0

    with world_in_memory(9, fate=lose_news, graceful=False) as agents:
        with acting_as(agents[2]):
            assert rpc.rpc_sync("worker5", far.add, args=(1, 2)) == 3  # the sums will differ
        _leave(agents[2], False)
        eventually(lambda: 2 in agents[1].gone)
        assert 2 not in agents[0].gone
        found = together([agent for agent in agents if agent.rank != 2], lambda _: _leave(rpc.api._get_current_rpc_agent()))
        assert found == [None] * 8
        assert all(agent.closing_protocol.losses for agent in agents if agent.rank != 2)  # so none frees the communicator


def _leave(agent: Any, graceful: bool = True) -> None:
    with acting_as(agent):
        leave(agent, graceful, 15)


def test_a_timeout_names_a_worker_that_did_not_call_shutdown() -> None:
    with world_in_memory(12, graceful=False) as agents:
        found = together([agent for agent in agents if agent.rank != 7], lambda _: _timed(agents[0]))
        assert "waited in shutdown for WorkerInfo(id=7, name=worker7)" in str(found[0])


def _timed(first: Any) -> None:
    agent = rpc.api._get_current_rpc_agent()
    agent.closing_protocol.run(time.monotonic() + (0.5 if agent is first else 2.0))
