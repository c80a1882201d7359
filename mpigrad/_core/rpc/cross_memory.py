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
    """The memory of a contiguous array, which this object keeps alive. `writable`: it will be written to."""

    address: int

    def __init__(self, array: Any, writable: bool = False) -> None:
        raise NotImplementedError("cross-memory attach needs the compiled module")


class Slots:
    """The slots of one process, this or another one, in `BYTES` bytes of shared memory: `place` is the index of a slot."""

    address: int
    token: bytes
    lent_file: int  # descriptor of the file with the memory that the process lends

    def __init__(self, memory: Any) -> None:
        raise NotImplementedError("cross-memory attach needs the compiled module")

    def offer(self, place: int, number: int, size: int) -> None:
        """Sender: open the slot `place` for the transfer `number`, of an array of `size` bytes."""

    def stage(self, place: int, number: int) -> int:
        """Return how far the transfer `number` in the slot `place` is: OFFERED, ACCEPTED, OVER or REFUSED.

        BROKEN if the slot now belongs to another transfer.
        """
        return BROKEN

    def accept(self, place: int, number: int, pid: int, into: Array, own: Slots) -> bool:
        """Receiver: accept an offer; False if nothing is offered there.

        Writes into the slot where the sender may write: process id, the memory `into`, and address and value of the own
        token.
        """
        return False

    def say(self, place: int, number: int, stage: int) -> None:
        """Receiver: set the stage of a transfer, to OVER or REFUSED."""

    def receiver(self, place: int) -> tuple[int, int, bytes]:
        """Sender: return what the receiver has written when it accepted: process id, address of its token, its token."""
        return 0, 0, b""

    def give(self, place: int, number: int, array: Array, most: int) -> int:
        """Sender: write up to `most` bytes, in chunks that it claims, to the receiver's memory.

        DONE if no chunk is left to claim, MORE if some are, otherwise BROKEN or an error of the system.
        """
        return BROKEN

    def take(self, place: int, number: int, pid: int, origin: int, array: Array, most: int) -> int:
        """Receiver: read up to `most` bytes, in chunks that it claims, from the sender's memory at the address `origin`.

        DONE if all is copied and no process writes any more, MORE if chunks are left, LATER if it has to wait for the
        sender's chunks; otherwise BROKEN or an error of the system.
        """
        return BROKEN


def recognise(pid: int, address: int, token: bytes) -> int:
    """Check that the process `pid` has this token at an address of its memory, and so is the one that is meant.

    0 if it has; otherwise the error number of the system, or BROKEN.
    """
    return BROKEN


def is_lent(table: Array, index: int) -> bool:
    """Return whether the block with this index in the table of lent blocks is in use by its borrower."""
    return False


def set_lent(table: Array, index: int, lent: bool) -> None:
    """Lender: the block is lent from now on. Borrower: it is returned, and not used any more."""
