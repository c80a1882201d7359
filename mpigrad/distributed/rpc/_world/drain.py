"""Draining: before a process that was in a dynamic world ends, it receives all messages that are still in flight to it.

Dynamic worlds use a communicator that they do not own, and messages to a worker that has left are never received. MPICH cannot
finalise while such messages exist. So each process sends a BYE to all ranks when it ends, and receives and drops frames until
it has the BYE of every rank. MPI messages of one rank arrive in order, so none follows its BYE. Ranks that never used RPC send
none, hence the time limit.
"""

from __future__ import annotations

import time
from typing import Any

from mpigrad._core.rpc.frames import kind_of, pack_header, read_header
from mpigrad._core.rpc.mpi import MPITransport
from mpigrad._process.survival import survive

from .._protocol.message import HEADER_SIZE, RAW, MessageType
from .._transport.choose import open_transport

PATIENCE = 3.0  # seconds
_groups: dict[int, tuple[Any, int]] = {}  # handle of the communicator -> itself, first tag
_goodbyes: set[int] = set()


def used_group(comm: Any, first_tag: int) -> None:
    """Remember that this process has joined a dynamic world on this communicator, whose messages use tags from `first_tag` on."""
    from mpigrad.distributed._mpi import mpi

    _groups[mpi()._handleof(comm)] = (comm, first_tag)


def note_bye(src: int) -> None:
    """Record the BYE of a rank that ended while this one still serves."""
    _goodbyes.add(src)


def drain_dynamic_groups() -> None:
    """Exchange BYE messages on all communicators that were used for dynamic worlds. Called at exit.

    In a job that survives deaths MPI is not finalised, so nothing has to be drained.
    """
    while _groups and not survive():
        _, (comm, first_tag) = _groups.popitem()
        _drain(open_transport(comm, first_tag))


def _drain(transport: MPITransport) -> None:
    meta = bytes(4)  # the payload of a raw message without arrays
    frame = pack_header(
        kind=MessageType.BYE, mode=RAW, src=transport.rank, length=HEADER_SIZE + len(meta), meta_length=len(meta)
    ) + meta  # fmt: skip
    others = {rank for rank in range(transport.size) if rank != transport.rank}
    for rank in others:
        transport.send(rank, frame, [], 0)
    limit = time.monotonic() + PATIENCE
    while (not others <= _goodbyes or transport.unsent()) and time.monotonic() < limit:
        received = transport.poll(50)
        if received is None:
            time.sleep(0.0005)
        elif kind_of(received) == MessageType.BYE:
            _goodbyes.add(read_header(received).src)
    transport.close(clean=True)
