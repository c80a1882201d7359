"""The loss of a worker, as a message: which worker, which of its lives, how it was noticed.

A loss is always a LOST frame that the transport returns like any other message: from MPI (the transport makes the frame
itself), from another worker (which missed heartbeats), or from a test (`MemoryNetwork.lose`). `_world/lost.py` handles it.
"""

from __future__ import annotations

from typing import NamedTuple

from mpigrad._core.rpc.frames import pack_header

from .message import HEADER_SIZE, MessageType
from .worker_info import WorkerInfo

BY_MPI, BY_SILENCE, BY_TEST, BY_EXIT, BY_SUCCESSOR = 1, 2, 3, 4, 5  # how a loss was noticed


class Loss(NamedTuple):
    """A worker that was lost: its process has ended, or no longer answers."""

    worker: WorkerInfo
    incarnation: int  # the life of the worker that ended: 1, 2, ... in a dynamic world; 0 in a static one
    why: str  # how it was noticed


def lost_frame(reporter: int, rank: int, incarnation: int, how: int, milliseconds: int = 0) -> bytes:
    """Build the LOST frame by which the worker `reporter` says that an incarnation of `rank` is lost.

    `how` is BY_MPI, BY_SILENCE ...; `milliseconds` is how long the rank has been silent (0 if that was not the reason).
    """
    return pack_header(
        kind=MessageType.LOST, src=reporter, length=HEADER_SIZE, extra=rank, extra2=incarnation, message_id=how,
        context_id=milliseconds,
    )  # fmt: skip


def reason(how: int, reporter: str, milliseconds: int) -> str:
    """Return how a loss was noticed, in words; arguments as for `lost_frame`, with the name of the reporter."""
    if how == BY_SILENCE:
        return f"{reporter} had no heartbeat of it for {milliseconds / 1000:.1f} s"
    if how == BY_EXIT:
        return f"{reporter} found that its process has ended"
    if how == BY_SUCCESSOR:
        return f"{reporter} has taken its place"
    return "MPI reports that its process has ended" if how == BY_MPI else "a test declared it lost"
