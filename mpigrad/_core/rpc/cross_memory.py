"""One array, copied from process to process by both ends at once; in C: `_core/rpc/cross_memory.pyx` says how.

This is its plain form, which cannot and says so: nothing is offered then, and what others offer is declined.
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
    """The memory of a contiguous array, as long as this lives."""

    address: int

    def __init__(self, array: Any, writable: bool = False) -> None:
        raise NotImplementedError("only the compiled form copies between processes")


class Slots:
    """The slots of one process, in memory of `BYTES` bytes: its own, or another's."""

    address: int
    token: bytes

    def __init__(self, memory: Any) -> None:
        raise NotImplementedError("only the compiled form copies between processes")

    def offer(self, place: int, number: int, size: int) -> None:
        """Open a slot for an array of some bytes: the sender's first word."""

    def stage(self, place: int, number: int) -> int:
        """How far a transfer is; BROKEN if the slot is another's."""
        return BROKEN

    def accept(self, place: int, number: int, pid: int, into: Array, own: Slots) -> bool:
        """The receiver's first word: where it wants the array, and how the sender knows it by. False if nothing is offered."""
        return False

    def say(self, place: int, number: int, stage: int) -> None:
        """The receiver's word on how far a transfer is."""

    def receiver(self, place: int) -> tuple[int, int, bytes]:
        """Process, address of the token and token of whoever accepted."""
        return 0, 0, b""

    def give(self, place: int, number: int, array: Array, most: int) -> int:
        """The sender's help: write some chunks into the receiver's memory. DONE means that no chunk is left to claim."""
        return BROKEN

    def take(self, place: int, number: int, pid: int, origin: int, array: Array, most: int) -> int:
        """The receiver's work: read some chunks. DONE means that all are there, and that nobody will write there again."""
        return BROKEN


def recognise(pid: int, address: int, token: bytes) -> int:
    """Whether a process has this token at an address of its memory: 0, the system's error, or BROKEN."""
    return BROKEN
