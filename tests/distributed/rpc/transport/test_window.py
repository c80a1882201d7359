"""The send window: a few sends to a rank are under way in MPI, the others queue in order and hold up no other rank."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc import mpi
from mpigrad._core.rpc.frames import pack_header
from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, MessageType
from mpigrad.distributed.rpc.api import _get_current_rpc_agent
from tests.support.eventually import eventually

from .. import support_functions as far

CALLS = 2000


class Request:
    """A send that is over when the test says so."""

    def __init__(self, over: bool) -> None:
        self.over = over

    def Test(self) -> bool:
        return self.over


class Deaf:
    """A communicator whose rank 1 takes nothing, while rank 2 takes everything at once."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, bytes]] = []
        self.requests: list[Request] = []

    def Isend(self, spec, dst: int, tag: int) -> Request:
        self.sent.append((dst, spec[0]))
        self.requests.append(Request(dst == 2))
        return self.requests[-1]


class Mute(mpi.MPITransport):
    """A transport that receives nothing."""

    def _open_ring(self) -> None:
        self._ring, self._buffers = [], []


@pytest.fixture
def transport():
    made = Mute(mpi.mpi().COMM_SELF)
    made.rank, made._comm = 0, Deaf()
    return made


def test_frames_beyond_the_window_wait_in_order(transport) -> None:
    comm, window = transport._comm, mpi.WINDOW
    for number in range(window + 50):
        transport.send(1, b"%d" % number, [], 0)
    assert len(comm.sent) == window and transport.unsent() == window + 50
    transport.send(2, b"other", [], 0)
    assert comm.sent[-1] == (2, b"other")  # no other rank waits
    while transport.unsent():
        for request in comm.requests:
            request.over = True
        transport._recycle()
    assert [frame for dst, frame in comm.sent if dst == 1] == [b"%d" % number for number in range(window + 50)]
    assert not transport.pending() and not transport._under_way and not transport._queued


def test_nothing_waits_for_sends_that_are_over_at_once(transport) -> None:
    comm, window = transport._comm, mpi.WINDOW
    for number in range(window + 50):
        transport.send(1, b"%d" % number, [], 0)
    comm.Isend = lambda spec, dst, tag: comm.sent.append((dst, spec[0])) or Request(True)
    comm.requests[0].over = True
    transport._recycle()
    assert [frame for _, frame in comm.sent] == [b"%d" % number for number in range(window + 50)]
    assert not transport._queued and transport.unsent() == window - 1


@pytest.mark.mpi(min_size=2)
def test_many_calls_in_flight_are_answered_within_the_window(rpc_world, monkeypatch) -> None:
    transport, most = _get_current_rpc_agent().transport, [0]
    keep = transport._keep

    def counted(request, dst) -> None:
        keep(request, dst)
        most[0] = max(most[0], *transport._under_way.values())

    monkeypatch.setattr(transport, "_keep", counted)
    numbers = np.arange(4000.0)
    futures = [rpc.rpc_async(rpc_world.next_name, far.add, args=(numbers, place)) for place in range(CALLS)]
    assert [fut.wait()[1] for fut in futures] == [place + 1.0 for place in range(CALLS)]
    assert most[0] <= mpi.WINDOW + 1  # an array follows its frame
    rpc_world.barrier()


class Refusing(Deaf):
    """A communicator that cannot send some frames."""

    def Isend(self, spec, dst: int, tag: int) -> Request:
        if spec[0].endswith(b"7"):
            raise BufferError("no such memory")
        return super().Isend(spec, dst, tag)


def test_frames_that_cannot_be_sent_after_their_wait_are_told(transport) -> None:
    transport._comm, window, told = Refusing(), mpi.WINDOW, []
    transport.report_failures_to(SimpleNamespace(send_failed=lambda *failure: told.append(failure)))
    for _ in range(window):
        transport.send(1, b"first", [], 0)
    for number in range(20):
        transport.send(1, b"%d" % number, [], 0)
    while transport.unsent():
        for request in transport._comm.requests:
            request.over = True
        transport._recycle()
    assert [(dst, frame, str(error)) for dst, frame, error in told] == [
        (1, b"7", "no such memory"),
        (1, b"17", "no such memory"),
    ]
    assert [int(frame) for _, frame in transport._comm.sent[window:]] == [n for n in range(20) if n % 10 != 7]
    assert not transport._under_way and not transport._queued


def test_a_send_that_fails_in_mpi_frees_its_place(transport, caplog) -> None:
    comm, window = transport._comm, mpi.WINDOW
    for number in range(window + 1):
        transport.send(1, b"%d" % number, [], 0)

    def fail() -> bool:
        raise ConnectionError("the link is cut")

    comm.requests[0].Test = fail
    transport._recycle()
    assert "rank 1 may not have arrived: the link is cut" in caplog.text
    assert comm.sent[-1] == (1, b"%d" % window) and transport.unsent() == window


def test_who_leaves_without_grace_still_says_so(transport, monkeypatch) -> None:
    monkeypatch.setattr(mpi, "LEAVE_SECONDS", 0.01)
    comm, window = transport._comm, mpi.WINDOW
    leave, other = (pack_header(kind=kind, src=0, length=HEADER_SIZE) for kind in (MessageType.LEAVE, MessageType.REPLY))
    for frame in (*[other] * window, *[other] * 10, leave, other):
        transport.send(1, frame, [], 0)
    transport.close(clean=False)
    assert [frame for _, frame in comm.sent[window:]] == [leave]
    assert not transport._queued


FAILING = 10  # every so many frames that waited


@pytest.mark.mpi(min_size=2)
def test_calls_and_answers_that_fail_after_their_wait(rpc_world, monkeypatch) -> None:
    agent, failed, waited = _get_current_rpc_agent(), [], [0]
    transport = agent.transport
    send, ended = transport._send, transport._ended
    late = threading.local()

    def failing(dst: int, frame: bytes, follow: list, tag: int) -> None:
        if getattr(late, "sending", False) and follow:
            waited[0] += 1
            if waited[0] % FAILING == 0:
                failed.append(frame[0])
                raise BufferError("no such memory")
        send(dst, frame, follow, tag)

    def ending(dst: int) -> None:
        late.sending = True
        ended(dst)
        late.sending = False

    monkeypatch.setattr(mpi, "WINDOW", 2)
    monkeypatch.setattr(transport, "_send", failing)
    monkeypatch.setattr(transport, "_ended", ending)
    rpc_world.barrier()
    numbers = np.ones(100_000)
    with agent.progress.queue.lock:  # nothing is received meanwhile, so nothing leaves the window
        futures = [rpc.rpc_async(rpc_world.next_name, far.add, args=(numbers, n), timeout=0) for n in range(100)]
    outcomes = [fut._value if state_of(fut) == 2 else fut.value()[-1] - 1 for fut in futures]
    rpc_world.barrier()
    monkeypatch.undo()
    errors = {n: str(outcome) for n, outcome in enumerate(outcomes) if isinstance(outcome, Exception)}
    assert all(outcome == n for n, outcome in enumerate(outcomes) if n not in errors)
    of_requests = sum("could not send to" in text for text in errors.values())
    of_answers = sum("could not send its answer: no such memory" in text for text in errors.values())
    assert of_requests == sum(kind != MessageType.REPLY for kind in failed) > 0
    assert of_requests + of_answers == len(errors)
    lost = rpc_world.gather((len(failed), len(errors)))
    assert sum(here for here, _ in lost) == sum(there for _, there in lost)


def state_of(fut) -> int:
    eventually(fut.done)
    return fut._state


@pytest.mark.mpi(min_size=2)
def test_calls_to_who_leaves_with_a_full_window_fail_soon(world, monkeypatch) -> None:
    """Queued answers are lost, but their callers learn that the worker has left."""
    rpc.init_rpc(world.name, rank=world.rank, world_size=world.world_size)
    agent = _get_current_rpc_agent()
    monkeypatch.setattr(mpi, "WINDOW", 2)
    world.barrier()
    if world.rank == 1:
        futures = [rpc.rpc_async(0, far.ones_once, args=("window", 100_000), timeout=0) for _ in range(20)]
        eventually(lambda: not agent.progress.queue.outbox and not agent.transport.unsent())
        with agent.progress.queue.lock:  # this rank takes nothing
            world.barrier()  # they were asked, and not answered yet
            world.barrier()  # they were answered, and the one who did has left
        for fut in futures:
            if state_of(fut) == 2:
                assert "has left" in str(fut._value)
        assert any(fut._state == 2 for fut in futures)
    else:
        world.barrier()
        far.set_flag("window")
        if world.rank == 0:
            eventually(lambda: agent.issued_and_handled()[1] >= 20 and agent.quiet())
            assert agent.transport._queued
            rpc.shutdown(graceful=False)
        world.barrier()
    world.barrier()
    if world.rank:
        rpc.shutdown(graceful=False)
