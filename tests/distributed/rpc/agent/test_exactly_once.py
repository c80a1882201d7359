"""Every request is issued once, answered once and counted once, also when sending or an observer fails."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from mpigrad.distributed.rpc._protocol.message import MessageType
from tests.support.eventually import eventually
from tests.support.in_memory import acting_as, world_in_memory

from .. import support_functions as far


class Breaks:
    """Makes the first sends of one type of message raise, as a message that is too large does."""

    def __init__(self, kind: MessageType, times: int = 1) -> None:
        self.kind, self.left = kind, times

    def stops(self, agent, message) -> bool:
        if message.kind == self.kind and self.left:
            self.left -= 1
            raise OverflowError("too large to send")
        return False


@pytest.fixture
def agents():
    with world_in_memory(2) as made, acting_as(made[0]):  # ends gracefully, which needs equal counts
        yield made


@pytest.mark.parametrize("args", [np.array([0.0]), np.array([1.0, 2.0])])
def test_arguments_may_be_an_array(agents, args) -> None:
    assert rpc.rpc_sync(1, lambda *given: len(given), args=args) == len(args)


def test_a_request_that_cannot_be_sent_is_not_issued(agents) -> None:
    before = agents[0].issued_and_handled()
    agents[0].sender.faults = Breaks(MessageType.PYTHON_CALL)
    with pytest.raises(OverflowError, match="too large"):
        rpc.rpc_async(1, far.whoami)
    assert not agents[0].calls.pending and agents[0].issued_and_handled() == before
    assert rpc.rpc_sync(1, far.whoami) == "worker1"


def test_an_internal_request_that_cannot_be_sent_is_not_issued(agents) -> None:
    before = agents[0].issued_and_handled()
    agents[0].sender.faults = Breaks(MessageType.UNKNOWN)
    with pytest.raises(OverflowError, match="too large"):
        agents[0].request(1, MessageType.UNKNOWN)
    assert not agents[0].calls.pending and agents[0].issued_and_handled() == before


def test_an_answer_that_cannot_be_sent_is_an_error_and_counts_once(agents) -> None:
    agents[1].sender.faults = Breaks(MessageType.REPLY)
    with pytest.raises(OverflowError, match="too large"):
        rpc.rpc_sync(1, far.whoami)
    eventually(lambda: (agents[0].issued_and_handled()[0], agents[1].issued_and_handled()[1]), equals=(1, 1))


def test_an_internal_answer_that_cannot_be_sent_is_an_error_and_counts_once(agents, monkeypatch) -> None:
    handler = agents[1].server._handlers[int(MessageType.RREF_FORK_REQUEST)]
    monkeypatch.setitem(agents[1].server._handlers, int(MessageType.UNKNOWN), handler._replace(fn=lambda agent, message: b"x"))
    agents[1].sender.faults = Breaks(MessageType.REPLY)
    with pytest.raises(OverflowError, match="too large"):
        agents[0].request(1, MessageType.UNKNOWN).wait()
    eventually(lambda: (agents[0].issued_and_handled()[0], agents[1].issued_and_handled()[1]), equals=(1, 1))


def test_remote_with_arguments_that_are_no_sequence(agents) -> None:
    """The error is the value's: every holder of the RRef gets it at once, and its creation is confirmed."""
    rref = rpc.remote(1, far.whoami, args=5)
    rref._get_future().wait()
    with pytest.raises(TypeError, match="int"):
        rref.to_here()


class Raising(Instrument):
    """Fails at every point."""

    def _fail(self, *about) -> None:
        raise KeyError("broken instrument")

    before_call = after_call = before_send = after_send = before_serve = after_serve = before_answer = after_answer = _fail


def test_instruments_that_fail_are_logged_and_harm_nothing(agents, caplog) -> None:
    broken = Raising()
    INSTRUMENTS.add(broken)
    try:
        assert rpc.rpc_sync(1, far.whoami) == "worker1"
    finally:
        INSTRUMENTS.remove(broken)
    assert "failed at before_serve" in caplog.text and "broken instrument" in caplog.text
