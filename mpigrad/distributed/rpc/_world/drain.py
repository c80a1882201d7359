"""The end of a process that was in a dynamic group: take in every message that is still on its way to it.

Dynamic groups use a communicator they share with others, and messages to a worker that has left are never received.
MPICH refuses to finalise while there are such messages. So each process says goodbye to all ranks when it ends, and
receives (and drops) frames until it has heard everybody's goodbye: messages of one rank come in order, so nothing can
follow it. Ranks that never used RPC say nothing, hence the time limit.
"""

from __future__ import annotations

import time
from typing import Any

from .._protocol.message import HEADER, HEADER_SIZE, RAW, MessageType
from .._transport.mpi import MPITransport
from .._transport.mpi_probing import open_transport

PATIENCE = 3.0
_groups: dict[int, tuple[Any, int]] = {}  # handle of the communicator -> itself, first tag
_byes: set[int] = set()


def used_group(comm: Any, first_tag: int) -> None:
    """Remember that a dynamic group of this communicator was joined."""
    from mpigrad.distributed._mpi import mpi

    _groups[mpi()._handleof(comm)] = (comm, first_tag)


def note_bye(src: int) -> None:
    """A rank has ended while this one still serves."""
    _byes.add(src)


def say_farewell() -> None:
    """Exchange goodbyes on all communicators that were used for dynamic groups."""
    while _groups:
        _, (comm, first_tag) = _groups.popitem()
        _farewell(open_transport(comm, first_tag))


def _farewell(transport: MPITransport) -> None:
    frame = HEADER.pack(MessageType.BYE, RAW, 0, 0, 0, transport.rank, HEADER_SIZE + 4, 0, 4, 0, 0, 0, 0, 0, 0) + bytes(
        4
    )
    others = {rank for rank in range(transport.size) if rank != transport.rank}
    for rank in others:
        transport.send(rank, frame, [], 0)
    limit = time.monotonic() + PATIENCE
    while (not others <= _byes or transport.unsent()) and time.monotonic() < limit:
        received = transport.poll(50)
        if received is None:
            time.sleep(0.0005)
        elif received[0] == MessageType.BYE:
            _byes.add(HEADER.unpack_from(received)[5])
    transport.close(clean=True)
