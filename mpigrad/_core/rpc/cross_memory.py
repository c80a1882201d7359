"""Copies one array between two processes, by both at the same time; `_core/rpc/cross_memory.pyx` describes how.

This is a stub: cross-memory attach needs the compiled module. Without it no offers are made, and all offers are declined.
"""

from __future__ import annotations

from typing import Any

CAN = False
COUNT = 128
TOKEN = 16
BYTES = COUNT * 128
OFFERED, ACCEPTED, OVER, REFUSED = 1, 2, 3, 4
DONE, MORE, LATER, BROKEN = 0, -1, -2, -3


class Array:
    """The memory of a contiguous array, kept alive by this object."""

    address: int

    def __init__(self, array: Any, writable: bool = False) -> None:
        raise NotImplementedError("only the compiled form copies between processes")


class Slots:
    """The slots of this or another process, in `BYTES` bytes of shared memory."""

    address: int
    token: bytes

    def __init__(self, memory: Any) -> None:
        raise NotImplementedError("only the compiled form copies between processes")

    def offer(self, place: int, number: int, size: int) -> None:
        """Sender: open a slot for an array of `size` bytes."""

    def stage(self, place: int, number: int) -> int:
        """OFFERED, ACCEPTED, OVER or REFUSED; BROKEN if the slot `place` now belongs to another transfer than `number`."""
        return BROKEN

    def accept(self, place: int, number: int, pid: int, into: Array, own: Slots) -> bool:
        """Receiver: accept an offer, with the address of its memory and its token. False if nothing is offered."""
        return False

    def say(self, place: int, number: int, stage: int) -> None:
        """Receiver: set the stage of a transfer."""

    def receiver(self, place: int) -> tuple[int, int, bytes]:
        """Process id, address of the token and token of the receiver."""
        return 0, 0, b""

    def give(self, place: int, number: int, array: Array, most: int) -> int:
        """Sender: write some chunks to the receiver's memory. DONE means that no chunk is left to claim."""
        return BROKEN

    def take(self, place: int, number: int, pid: int, origin: int, array: Array, most: int) -> int:
        """Receiver: read some chunks. DONE means that all are copied and no process writes any more."""
        return BROKEN


def recognise(pid: int, address: int, token: bytes) -> int:
    """Check that a process has this token at an address of its memory: 0, the system's error, or BROKEN."""
    return BROKEN
