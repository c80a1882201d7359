"""Heartbeats over a transport in memory: a silent worker is declared lost, a slow one is not."""

from __future__ import annotations

import time
from collections import Counter

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc._protocol.lost import BY_SILENCE
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._world import heartbeat, lost
from mpigrad.distributed.rpc._world.heartbeat import Heartbeat
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


def start(agents, seconds: float) -> None:
    for agent in agents:
        agent.slots["heartbeat"] = Heartbeat(agent, seconds)


def test_a_silent_worker_is_lost_for_all_others() -> None:
    cut: set[int] = set()

    def fate(src: int, dst: int, frame: bytes) -> float | None:
        return None if cut & {src, dst} else 0.0

    with world_in_memory(4, fate=fate, graceful=False, rpc_timeout=30) as agents, acting_as(agents[0]):
        start(agents, 0.4)
        assert rpc.rpc_sync(2, far.add, args=(1, 1)) == 2
        cut.add(2)
        with pytest.raises(rpc.WorkerLostError, match=r"worker2 \(rank 2\) was lost: worker3 had no heartbeat of it for") as told:
            rpc.rpc_sync(2, far.nothing)
        assert told.value.rank == 2
        eventually(lambda: [sorted(agents[rank].workers) for rank in (0, 1, 3)], equals=[[0, 1, 3]] * 3)
        assert rpc.rpc_sync(3, far.add, args=(1, 1)) == 2


def test_two_silent_neighbours_are_lost_one_after_the_other() -> None:
    cut: set[int] = set()

    def fate(src: int, dst: int, frame: bytes) -> float | None:
        return None if cut & {src, dst} else 0.0

    with world_in_memory(4, fate=fate, graceful=False) as agents:
        start(agents, 0.4)
        cut |= {1, 2}
        eventually(lambda: [sorted(agents[rank].workers) for rank in (0, 3)], equals=[[0, 3]] * 2)


def test_the_news_of_a_loss_takes_a_tree_whose_heads_may_be_lost_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost, "FAN_OUT", 2)
    sent: Counter[tuple[int, int]] = Counter()

    def fate(src: int, dst: int, frame: bytes) -> float | None:
        if frame[0] == MessageType.LOST:
            sent[src, dst] += 1
        return None if {2, 5} & {src, dst} else 0.0

    with world_in_memory(9, fate=fate, graceful=False) as agents:
        lost.tell_all(agents[8], 2, 0, BY_SILENCE, 400)
        lost.lose(agents[8], 2, 0, BY_SILENCE, 8, 400)
        there = [agents[rank] for rank in (0, 1, 3, 4, 8)]
        eventually(lambda: [2 in agent.lost for agent in there], equals=[True] * 5)
        assert not agents[6].lost and not agents[7].lost  # worker5 should have told them
        assert all(agent.lost[2].why == "worker8 had no heartbeat of it for 0.4 s" for agent in there)
        lost.lose(agents[8], 5, 0, BY_SILENCE, 4, 400)
        eventually(lambda: [2 in agents[rank].lost for rank in (6, 7)], equals=[True] * 2)
        assert sent[8, 0] == sent[8, 2] == sent[8, 5] == 1  # heads of parts, and the lost worker itself
        assert max(Counter(src for src, _ in sent).values()) == 5  # worker8: also the two that worker5 did not tell


def test_late_heartbeats_and_other_traffic_lose_no_worker() -> None:
    def fate(src: int, dst: int, frame: bytes) -> float:
        return 0.15 if frame[0] == MessageType.HEARTBEAT else 0.0

    with world_in_memory(3, fate=fate, graceful=False) as agents, acting_as(agents[0]):
        start(agents, 0.4)
        limit = time.monotonic() + 1.2
        while time.monotonic() < limit:
            assert rpc.rpc_sync(1, far.add, args=(1, 1)) == 2
        assert not any(agent.lost for agent in agents)


def test_a_process_that_is_gone_is_lost_without_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_SECONDS", 0.05)

    def fate(src: int, dst: int, frame: bytes) -> float | None:
        return None if dst == 0 and frame[0] == MessageType.LOST else 0.0  # a worker that reads that it is lost ends its process

    with world_in_memory(3, fate=fate, graceful=False) as agents:
        start(agents, 0)
        eventually(lambda: all(agent.slots["heartbeat"]._pid for agent in agents))
        monkeypatch.setattr(heartbeat, "_exists", lambda pid: pid != 4_000_000)

        def noticed() -> bool:
            agents[1].slots["heartbeat"]._pid = 4_000_000  # each time, since a late answer of worker0 may have the real one
            return 0 in agents[1].lost and 0 in agents[2].lost

        eventually(noticed)
        assert "worker1 found that its process has ended" in agents[2].lost[0].why


def test_heartbeats_of_a_worker_that_left_are_not_missed() -> None:
    with world_in_memory(3, graceful=False) as agents:
        start([agents[0], agents[2]], 0.4)
        for agent in (agents[0], agents[2]):
            agent.lose(1, "worker1 has left")
        time.sleep(1.0)
        assert not agents[0].lost and not agents[2].lost
