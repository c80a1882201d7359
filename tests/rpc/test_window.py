"""Only so many sends to one rank are under way in MPI; the rest waits here, in order, and holds up no other rank."""

from __future__ import annotations

import numpy as np
import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad.distributed.rpc import _mpi_transport
from mpigrad.distributed.rpc.api import _get_current_rpc_agent

from . import support_functions as far

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


@pytest.fixture
def transport(monkeypatch):
    monkeypatch.setattr(_mpi_transport.MPITransport, "_open_ring", lambda self: setattr(self, "_ring", []))
    made = _mpi_transport.MPITransport(_mpi_transport.mpi().COMM_SELF)
    made.rank, made._comm = 0, Deaf()
    return made


def test_frames_beyond_the_window_wait_in_order(transport) -> None:
    comm, window = transport._comm, _mpi_transport.WINDOW
    for number in range(window + 50):
        transport.send(1, b"%d" % number, [], 0)
    assert len(comm.sent) == window and transport.unsent() == window + 50
    transport.send(2, b"other", [], 0)
    assert comm.sent[-1] == (2, b"other")  # nobody else waits
    while transport.unsent():
        for request in comm.requests:
            request.over = True
        transport._recycle()
    assert [frame for dst, frame in comm.sent if dst == 1] == [b"%d" % number for number in range(window + 50)]
    assert not transport.pending() and not transport._under_way and not transport._queued


def test_nothing_waits_for_sends_that_are_over_at_once(transport) -> None:
    comm, window = transport._comm, _mpi_transport.WINDOW
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
    assert most[0] <= _mpi_transport.WINDOW + 1  # an array follows its frame
    rpc_world.barrier()
