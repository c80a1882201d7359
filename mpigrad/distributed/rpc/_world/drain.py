"""The end of a process that was in a dynamic group: take in every message that is still on its way to it.

Dynamic groups use a communicator they share with others, and messages to a worker that has left are never received.
MPICH refuses to finalise while there are such messages. So each process says goodbye to all ranks when it ends, and
receives (and drops) frames until it has heard everybody's goodbye: messages of one rank come in order, so nothing can
follow it. Ranks that never used RPC say nothing, hence the time limit.
"""

from __future__ import annotations

import time
from typing import Any

from mpigrad._core.rpc.codec import kind_of, pack_header, read_header
from mpigrad._core.rpc.mpi import MPITransport

from .._protocol.message import HEADER_SIZE, RAW, MessageType
from .._transport.choose import open_transport

PATIENCE = 3.0
_groups: dict[int, tuple[Any, int]] = {}  # handle of the communicator -> itself, first tag
_goodbyes: set[int] = set()


def used_group(comm: Any, first_tag: int) -> None:
    """Remember that a dynamic group of this communicator was joined."""
    from mpigrad.distributed._mpi import mpi

    _groups[mpi()._handleof(comm)] = (comm, first_tag)


def note_bye(src: int) -> None:
    """A rank has ended while this one still serves."""
    _goodbyes.add(src)


def drain_dynamic_groups() -> None:
    """Exchange goodbyes on all communicators that were used for dynamic groups."""
    while _groups:
        _, (comm, first_tag) = _groups.popitem()
        _drain(open_transport(comm, first_tag))


def _drain(transport: MPITransport) -> None:
    meta = bytes(4)  # the length of a layout without arrays
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
