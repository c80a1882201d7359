"""Members of a dynamic group over the in-memory transport: what they do with words that come too late."""

from __future__ import annotations

import pytest

from mpigrad.distributed.rpc import _current
from mpigrad.distributed.rpc._dynamic import join
from mpigrad.distributed.rpc._exchange import introduction
from mpigrad.distributed.rpc._memory_transport import MemoryNetwork
from mpigrad.distributed.rpc._message import MessageType
from mpigrad.distributed.rpc._seams import RawMessage
from mpigrad.distributed.rpc._world import leave
from mpigrad.distributed.rpc.options import MPIRpcBackendOptions

from . import support_functions as far


@pytest.fixture
def network():
    with _current.shared_process():
        yield MemoryNetwork(2)


def member(network: MemoryNetwork, rank: int, name: str):
    return join(name, network.transport(rank), MPIRpcBackendOptions())


def kinds_for(network: MemoryNetwork, rank: int) -> list[int]:
    """The types of the messages that wait for a rank."""
    found = []
    while (frame := network.get(rank)) is not None:
        found.append(frame[0])
    return found


def test_nobody_is_welcomed_after_the_last_word(network) -> None:
    leaver = member(network, 0, "leaver")
    body = introduction(leaver).replace(b"leaver", b"joiner")
    kinds_for(network, 1)
    leaver.membership.on_join(RawMessage(1, body, [], 1, 0, 0, 0))
    far.wait_for(lambda: 1 in leaver.workers)
    leaver.membership.close()
    leaver.membership.on_join(RawMessage(1, body, [], 2, 0, 0, 0))
    far.wait_for(lambda: not leaver.progress.outbox)
    assert kinds_for(network, 1) == [MessageType.WELCOME, MessageType.LEAVE]
    leave(leaver, False, 0)


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
    assert not membership._settled(1.0, 500)
    joiner.lose(1, "has left")
    assert membership._settled(0.0, 0)
    leave(joiner, False, 0)
