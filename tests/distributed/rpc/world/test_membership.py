"""Members of a dynamic group over the in-memory transport: what they do with messages that come too late."""

from __future__ import annotations

import time

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.future import block
from mpigrad._core.rpc.agent import RawMessage
from mpigrad._core.rpc.frames import epoch_of, kind_of
from mpigrad._core.rpc.progress import Pool
from mpigrad.distributed.rpc._agent import current
from mpigrad.distributed.rpc._progress import progress
from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.distributed.rpc._transport.in_memory import MemoryNetwork
from mpigrad.distributed.rpc._world import dynamic, leaving
from mpigrad.distributed.rpc._world.device_profiles import encode_introduction
from mpigrad.distributed.rpc._world.dynamic import join
from mpigrad.distributed.rpc._world.leaving import leave
from mpigrad.distributed.rpc.options import MPIRpcBackendOptions
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as


@pytest.fixture
def network():
    with current.shared_process():
        yield MemoryNetwork(2)


def member(network: MemoryNetwork, rank: int, name: str):
    return join(name, network.transport(rank), MPIRpcBackendOptions())


def kinds_for(network: MemoryNetwork, rank: int) -> list[int]:
    """The types of the messages that wait for a rank."""
    found = []
    while (frame := network.get(rank)) is not None:
        found.append(kind_of(frame))
    return found


def test_nobody_is_welcomed_after_the_last_word(network) -> None:
    leaver = member(network, 0, "leaver")
    body = encode_introduction(leaver).replace(b"leaver", b"joiner")
    kinds_for(network, 1)
    leaver.membership.on_join(RawMessage(1, body, [], 1, 0, 0, 0))
    eventually(lambda: 1 in leaver.workers)
    leaver.membership.close()
    leaver.membership.on_join(RawMessage(1, body, [], 2, 0, 0, 0))
    eventually(lambda: not leaver.progress.queue.outbox)
    assert kinds_for(network, 1) == [MessageType.WELCOME, MessageType.LEAVE]
    leave(leaver, False, 0)


def test_who_is_kept_waiting_for_a_core_waits_longer_for_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one who could answer may be kept waiting as well: here for longer than the looks alone take."""
    turns: list[None] = []

    def starved(fut, deadline) -> None:
        turns.append(None)
        block(fut, deadline + (0.05 if len(turns) == 10 else 0))

    with current.shared_process():
        slow = MemoryNetwork(2, fate=lambda src, dst, frame: 0.6 if frame[0] == MessageType.WELCOME else 0.0)
        first = member(slow, 0, "taken")
        monkeypatch.setattr(dynamic, "block", starved)
        with pytest.raises(RuntimeError, match="name taken is not unique"):
            member(slow, 1, "taken")
        leave(first, False, 0)


def test_who_hardly_gets_a_core_does_not_look_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic, "LONGEST", 0.5)
    monkeypatch.setattr(dynamic, "block", lambda fut, deadline: time.sleep(0.1))
    began = time.monotonic()
    with current.shared_process():
        leave(member(MemoryNetwork(2), 0, "alone"), False, 0)
    assert 0.5 < time.monotonic() - began < 5


def test_a_refusal_reaches_the_life_that_asked(network) -> None:
    """An earlier life of the same rank was known under another name."""
    first = member(network, 0, "taken")
    mine = encode_introduction(first)
    first.membership.on_join(RawMessage(1, mine.replace(b"taken", b"other"), [], 5, 0, 0, 0))
    first.lose(1, "has left")
    kinds_for(network, 1)
    first.membership.on_join(RawMessage(1, mine, [], 6, 0, 0, 0))
    eventually(lambda: not first.progress.queue.outbox)
    assert epoch_of(network.get(1)) == 6
    leave(first, False, 0)


def test_the_word_of_joining_is_for_any_life(network, monkeypatch) -> None:
    """What an earlier life of the other rank left behind is taken in as soon as the pool starts."""
    leave(member(network, 1, "earlier"), False, 0)
    kinds_for(network, 1)

    class Busy(Pool):
        def start(self) -> None:
            super().start()
            eventually(lambda: not any(network._queues[0].values()))
            time.sleep(0.02)

    monkeypatch.setattr(progress, "Pool", Busy)
    joined = member(network, 0, "new")
    assert joined.epochs[1] > 0
    word = network.get(1)
    assert kind_of(word) == MessageType.JOIN and epoch_of(word) == 0
    leave(joined, False, 0)


def test_a_refusal_of_an_earlier_life_is_no_refusal(network) -> None:
    alone = member(network, 0, "alone")
    alone.membership.on_welcome(RawMessage(1, b"\0no", [], alone.epoch + 1, 0, 0, 0))
    assert alone.membership._refused is None
    alone.membership.on_welcome(RawMessage(1, b"\0no", [], alone.epoch, 0, 0, 0))
    assert alone.membership._refused == "no"
    leave(alone, False, 0)


def test_a_member_that_leaves_while_somebody_joins_is_not_waited_for(network) -> None:
    """The joiner hears of it from a third, then only its last word."""
    joiner = member(network, 0, "joiner")
    membership = joiner.membership
    membership._expected = {1}
    assert not membership._settled(1.0, 500, 0.0)
    joiner.lose(1, "has left")
    assert membership._settled(0.0, 0, 0.0)
    leave(joiner, False, 0)


def test_members_know_of_lives_that_ended_before_they_joined(network) -> None:
    """Asked for the orphans of such a life, they answer at once; they waited 5 seconds for the news of its end."""
    first = member(network, 0, "first")
    lost = first.rrefs.has_lost
    assert lost(0, first.epoch - 1) and not lost(0, first.epoch)  # its own
    leaving._on_leave(first, RawMessage(1, b"", [], 3, 0, 0, 0))
    assert lost(1, 3) and not lost(1, 4)  # one of which it never knew
    first.membership.on_join(RawMessage(1, encode_introduction(first).replace(b"first", b"other"), [], 6, 0, 0, 0))
    assert lost(1, 5) and not lost(1, 6)  # those before a member's present one
    leaving._on_leave(first, RawMessage(1, b"", [], 6, 0, 0, 0))
    eventually(lambda: lost(1, 6))
    leave(first, False, 0)

    again = join("again", network.transport(0), MPIRpcBackendOptions(), first.membership._left)
    assert again.rrefs.has_lost(1, 6)  # its earlier life heard of it
    leave(again, False, 0)


def test_rrefs_to_an_earlier_life_of_their_owner_say_that_the_value_is_gone() -> None:
    """Its present life would wait for a value that nobody makes."""
    with current.shared_process():
        network = MemoryNetwork(2)
        keeper, owner = member(network, 0, "keeper"), member(network, 1, "owner")
        eventually(lambda: 1 in keeper.workers)
        with acting_as(keeper):
            rref = rpc.remote("owner", max, args=(1, 2))
            assert rref.to_here() == 2
            leave(owner, False, 0)
            eventually(lambda: 1 in keeper.gone)
            again = member(network, 1, "owner")
            eventually(lambda: 1 in keeper.workers)
            with pytest.raises(WorkerGoneError, match="has left this RPC world and joined it again"):
                rref.to_here()
            with pytest.raises(WorkerGoneError, match="has left this RPC world and joined it again"):
                rpc.rpc_sync("owner", rpc.RRef.local_value, args=(rref,))
        leave(again, False, 0)
        leave(keeper, False, 0)
