"""Offers: large arrays between ranks of one host are copied by both ends at once, not by MPI, which lets one copy while the other waits.

The protocol
- The sender gives an array a slot of its own (`_both_ends.pyx`), marks the frame (OFFERED) and puts at its end who it is
  and, for each array that it offers, slot and address. MPI is not asked to send these arrays.
- The receiver maps the sender's slots when it first hears of them. If it can, it *accepts*: a word in the slot, which the sender finds
  in its own memory. Both copy, the receiver says in the slot that the transfer is *over*. No message is sent for any of that.
- If it cannot (another host or container, no permission, plain Python), it *declines* by a frame, and receives what was offered from MPI,
  with the tags that the arrays have anyway. The sender sends it so, and offers that rank nothing any more.
- If memory turns out not to be readable on the way, the receiver *refuses* this transfer in its slot, once nobody writes any more.

Invariants
- Nothing here is collective, or exists before the first large array. What is kept of a rank is one mapping or one word.
- The sender's array and slot live until the receiver has said its last word on them; for ever, if it never does.
- The receiver's array is handed out when all of its chunks are there and the sender has no claim on any. Nobody writes then.
- The sender writes only into a process that it has recognised, and only chunks of which the slot says that they are its own.
- A receiver may finish alone: a sender that is busy elsewhere holds up nothing. A request does a step at a time and never waits.
"""

from __future__ import annotations

import logging
import os
import struct
from typing import Any

import numpy as np

from . import _both_ends
from ._both_ends import ACCEPTED, DONE, LATER, MORE, OVER, REFUSED, Array, Slots
from ._message import FLAGS_OFFSET, HEADER, HEADER_SIZE, LENGTH, LENGTH_OFFSET, OFFERED, RAW, MessageType
from ._outgoing import Outgoing
from ._own_slots import IDENTITY_SIZE, Identity, checked_way, map_slots, own_slots, read_identity
from ._transport import FRAME_MAX, Bulk, tags_of

logger = logging.getLogger(__name__)

SHARE_MIN = 128 * 1024  # bytes of arrays that are offered
STEP = 1 << 20  # bytes that one look at a transfer copies
_ARRAY = struct.Struct("<HHIQ")  # which of those that follow the frame, its place among the slots, number, address
_COUNT = struct.Struct("<H")
_NUMBER = struct.Struct("<I")

_left: list[Any] = []  # memory of transfers that broke off: somebody may still write there


class Offers:
    """What one transport offers, and what it is offered."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._willing = checked_way() == "both_ends" and _both_ends.CAN
        self._declining: set[int] = set()  # ranks that do not want offers
        self._recognised: dict[int, bytes] = {}  # ranks into whose memory this one writes, by their tokens; b"" for never
        self._slots: dict[int, Slots] = {}  # of ranks that offered something
        self.out: dict[int, Giving] = {}  # by number

    def make(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> tuple[Any, dict[int, Giving]] | None:
        """The frame with offers of its large arrays, and their requests by number of the array; None if there are none."""
        if not self._willing or dst in self._declining:
            return None
        large, own = _large(follow), own_slots()
        size = len(frame) + len(large) * _ARRAY.size + IDENTITY_SIZE + _COUNT.size
        if not large or own is None or size > FRAME_MAX or len(large) > len(own.free):
            return None
        made: dict[int, Giving] = {}
        offered = bytearray(frame)
        for nth, place in large:
            made[nth] = giving = Giving(self, own, dst, follow[nth], tag + place)
            offered += _ARRAY.pack(nth, giving.place, giving.number, giving.array.address)
        offered += own.packed + _COUNT.pack(len(large))
        offered[FLAGS_OFFSET] |= OFFERED
        LENGTH.pack_into(offered, LENGTH_OFFSET, len(offered))
        return offered, made

    def open(self, frame: bytearray, src: int) -> dict[int, Offer]:
        """Take the offers off a frame; by number of the array, none if they were declined."""
        them, arrays = _take_off(frame)
        offers = {nth: Offer(place, number, address, them) for nth, place, number, address in arrays}
        try:
            if not self._willing:
                raise OSError("not wanted here")
            slots = self._slots.get(src)
            if slots is None or slots.token != them.token:
                self._slots[src] = slots = map_slots(them)
        except OSError as error:
            logger.debug("large arrays of rank %s come by MPI: %s", src, error)
            self._decline(src, offers)
            return {}
        for offer in offers.values():
            offer.slots = slots
        return offers

    def _decline(self, src: int, offers: dict[int, Offer]) -> None:
        numbers = b"".join([_NUMBER.pack(offer.number) for offer in offers.values()])
        rank, length = self._transport.rank, HEADER_SIZE + len(numbers)
        fields = (MessageType.DECLINE, RAW, 0, 0, 1, rank, length, 0, 0, 0, 0, 0, 0, 0, 0)  # as if an array followed: to be seen
        self._transport.send(src, HEADER.pack(*fields) + numbers, [], 0)

    def declined(self, frame: bytearray) -> None:
        """A rank wants none of what it was offered, and nothing else."""
        src = HEADER.unpack_from(frame)[5]
        for (number,) in _NUMBER.iter_unpack(frame[HEADER_SIZE : len(frame) & ~3]):
            giving = self.out.get(number)
            if giving is not None and giving.dst == src:
                self._declining.add(src)
                giving.declined = True

    def recognises(self, dst: int, pid: int, address: int, token: bytes) -> bool:
        """Whether a rank's process is the one that it says, and may be written into."""
        known = self._recognised.get(dst)
        if known is None:
            known = self._recognised[dst] = b"" if _both_ends.recognise(pid, address, token) else token
        return known == token


class Offer:
    """One array that a rank offers."""

    slots: Slots

    def __init__(self, place: int, number: int, address: int, them: Identity) -> None:
        self.place, self.number, self.address, self.them = place, number, address, them


class Giving:
    """A request for the sending of an offered array."""

    def __init__(self, offers: Offers, own: Any, dst: int, array: Any, tag: int) -> None:
        self._offers, self._own, self.dst, self._tag = offers, own, dst, tag
        self._raw = array.reshape(-1).view(np.uint8)
        self.array = Array(self._raw)
        self.place, self.number = own.free.popleft(), next(own.numbers)
        self.declined = False
        self._helps = True
        self._requests: list[Any] | None = None  # once MPI sends it
        own.slots.offer(self.place, self.number, self._raw.nbytes)
        offers.out[self.number] = self

    def Test(self) -> bool:
        """Help for a while; whether the array is not needed any more."""
        if self._requests is not None:
            return self._offers._transport.test_all(self._requests)
        stage = self._own.slots.stage(self.place, self.number)
        if stage == ACCEPTED:
            if self._helps:
                self._help()
            return False
        if stage == OVER:
            self.withdraw()
            return True
        if stage == REFUSED or self.declined:
            self.withdraw()
            self._requests = []
            for request in self._offers._transport.send_pieces(self.dst, self._raw, self._tag):
                self._requests.append(request)
        return False

    def _help(self) -> None:
        slots = self._own.slots
        self._helps = self._offers.recognises(self.dst, *slots.receiver(self.place))
        if self._helps:
            self._helps = slots.give(self.place, self.number, self.array, STEP) == MORE

    def withdraw(self) -> None:
        """The slot is free again: nobody will look at it any more."""
        if self._offers.out.pop(self.number, None) is not None:
            self._own.free.append(self.place)


class Taking:
    """A request for the receiving of an offered array, of a message that fails if that does."""

    def __init__(self, transport: Any, bulk: Bulk, offer: Offer, array: Any, src: int, tag: int) -> None:
        self._transport, self._bulk, self._offer, self._src, self._tag = transport, bulk, offer, src, tag
        self._raw = array
        self._into: Any = None  # its memory, once accepted
        self._refused = False
        self._requests: list[Any] | None = None  # once MPI receives it

    def Test(self) -> bool:
        """Copy for a while; whether the array is there."""
        if self._requests is not None:
            return self._transport.test_all(self._requests)
        offer = self._offer
        if self._into is None:
            into, own = Array(self._raw, True), own_slots()
            if own is None or not offer.slots.accept(offer.place, offer.number, os.getpid(), into, own.slots):
                text = f"malformed message: an array of {self._raw.nbytes} bytes is not what rank {self._src} offers"
                return self._fail(ValueError(text))
            self._into = into
        said = offer.slots.take(offer.place, offer.number, offer.them.pid, offer.address, self._into, STEP)
        if said == MORE:
            return False
        if said == DONE:
            return self._finish()
        gone = _both_ends.recognise(offer.them.pid, offer.them.address, offer.them.token)
        if gone or said not in (LATER, *_SYSTEM):
            _left.append(self._into)
            return self._fail(ConnectionError(f"rank {self._src} was lost in the middle of an array of {self._raw.nbytes} bytes"))
        if said != LATER:
            logger.debug("an array of rank %s comes by MPI: %s", self._src, os.strerror(said))
            self._refused = True
        return False

    def _finish(self) -> bool:
        """Everything was claimed, and nobody writes any more."""
        offer, self._into = self._offer, None
        offer.slots.say(offer.place, offer.number, REFUSED if self._refused else OVER)
        if self._refused:
            self._requests = []
            for request in self._transport.receive_pieces(self._src, self._raw, self._tag):
                self._requests.append(request)
        return not self._refused

    def _fail(self, error: Exception) -> bool:
        logger.error("a message could not be received: %s", error)
        self._bulk.followed = error
        return True


_SYSTEM = range(1, 4096)  # numbers of the system's errors


def _large(follow: list[Any]) -> list[tuple[int, int]]:
    """The arrays to be offered: which, and how many tags are before its own. None if anything is on a device."""
    large, place = [], 0
    for nth, array in enumerate(follow):
        if type(array) is Outgoing:
            return []
        if array.nbytes >= SHARE_MIN:
            large.append((nth, place))
        place += tags_of(array.nbytes)
    return large


def _take_off(frame: bytearray) -> tuple[Identity, list[Any]]:
    """Who offers, and what, from the end of a frame, which is as if it had not been offered afterwards."""
    count = frame[6] | frame[7] << 8
    (offered,) = _COUNT.unpack_from(frame, len(frame) - _COUNT.size)
    start = len(frame) - _COUNT.size - IDENTITY_SIZE - offered * _ARRAY.size
    if start < HEADER_SIZE or not 0 < offered <= count:
        raise ValueError(f"malformed message: {offered} arrays offered in a frame of {len(frame)} bytes with {count} transfers")
    end = start + offered * _ARRAY.size
    arrays = list(_ARRAY.iter_unpack(frame[start:end]))
    them = read_identity(bytes(frame[end : end + IDENTITY_SIZE]))
    there = {nth for nth, place, _, _ in arrays if nth < count and 0 < place < _both_ends.COUNT}
    if len(there) < offered:
        raise ValueError(f"malformed message: offers of arrays or in slots that there are not: {arrays[:4]}")
    del frame[start:]
    frame[FLAGS_OFFSET] &= ~OFFERED
    LENGTH.pack_into(frame, LENGTH_OFFSET, start)
    return them, arrays
