"""Offers: large arrays between ranks of one host are copied by both ends at once. MPI would let one copy while the other waits.

The protocol
- The sender gives an array a slot of its own (`cross_memory.pyx`), marks the frame (OFFERED) and puts at its end who it is
  and, for each array that it offers, slot and address. MPI is not asked to send these arrays.
- The receiver maps the sender's slots when it first hears of them. If it can, it *accepts*: a word in the slot, which the sender
  finds in its own memory. Both copy; the receiver says in the slot that the transfer is *over*. There are no messages about it.
- If it cannot (another host or container, no permission, plain Python), it *declines* by a frame, and receives what was offered
  from MPI, with the tags that the arrays have anyway. The sender sends it so, and offers that rank nothing any more.
- If memory turns out not to be readable on the way, the receiver *refuses* the transfer in its slot, once nobody writes any more,
  and receives it from MPI. The sender offers it nothing any more then.

Invariants
- Nothing here is collective, or exists before the first large array. What is kept of a rank is one mapping or one word.
- The sender's array and slot live until the receiver has said its last word on them; for ever, if it never does.
- The receiver's array is handed out when all of its chunks are there and the sender has no claim on any. Nobody writes then.
- The sender writes only into a process that it has recognised, and only chunks of which the slot says that they are its own.
- A receiver may finish alone: a sender that is busy elsewhere holds up nothing. A request copies and never waits.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
from typing import Any, NamedTuple

import numpy as np

from mpigrad.distributed.rpc._protocol.message import (
    FLAGS_OFFSET,
    HEADER_SIZE,
    LENGTH,
    LENGTH_OFFSET,
    OFFERED,
    RAW,
    MessageType,
)
from mpigrad.distributed.rpc._transport.device.send import Outgoing
from mpigrad.distributed.rpc._transport.shared_memory.slots import (
    IDENTITY_SIZE,
    OwnSlots,
    checked_way,
    map_slots,
    own_slots,
    read_identity,
)

from . import cross_memory
from .base import FRAME_MAX, FrameWithArrays, tags_of
from .codec import pack_header, transfers_of
from .cross_memory import ACCEPTED, DONE, LATER, MORE, OVER, REFUSED, Array, recognise

logger = logging.getLogger(__name__)

SHARE_MIN = 512 * 1024  # bytes of arrays that are offered
STEP = 64 << 20  # bytes that one look at a transfer copies, at most: MPI would copy everything
_ARRAY = struct.Struct("<HHIQ")  # the fields of an `Offer`
_COUNT = struct.Struct("<H")
_NUMBER = struct.Struct("<I")
_TAIL = IDENTITY_SIZE + _COUNT.size
_SYSTEM_ERRORS = range(1, 4096)

_left: list[Any] = []  # memory of transfers that broke off: somebody may still write there


class Offer(NamedTuple):
    """One offered array, as the frame describes it."""

    nth: int  # of the arrays that follow the frame
    place: int  # among the sender's slots
    number: int
    address: int  # in the sender's memory


class Offers:
    """What one transport offers, and what it is offered."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        way = checked_way()
        self._willing = way != "mpi" and cross_memory.CAN  # to take what others offer
        self._offering = self._willing and (way == "both_ends" or not transport.oversubscribed)
        self._declining: set[int] = set()  # ranks that do not want offers
        self._recognised: dict[int, bytes] = {}  # ranks into whose memory this one writes, by their tokens; b"" for never
        self._known: dict[int, Sender] = {}  # ranks that offered something
        self.out: dict[int, OfferSend] = {}  # by number

    def make(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> tuple[Any, dict[int, OfferSend]] | None:
        """The frame with offers of its large arrays, and their requests by number of the array; None if there are none."""
        if not self._offering or dst in self._declining:
            return None
        if len(follow) == 1 and follow[0].nbytes < SHARE_MIN:
            return None
        large = _large(follow)
        if not large:
            return None
        own = own_slots()
        if own is None or len(frame) + len(large) * _ARRAY.size + _TAIL > FRAME_MAX or len(large) > len(own.free):
            return None
        made: dict[int, OfferSend] = {}
        offered = bytearray(frame)
        try:
            for nth, place in large:
                made[nth] = giving = OfferSend(self, own, dst, follow[nth], tag + place)
                offered += _ARRAY.pack(nth, giving.place, giving.number, giving.array.address)
        except IndexError:  # another transport has taken the last place meanwhile
            for giving in made.values():
                giving.withdraw()
            return None
        offered += own.packed
        offered += _COUNT.pack(len(large))
        offered[FLAGS_OFFSET] |= OFFERED
        LENGTH.pack_into(offered, LENGTH_OFFSET, len(offered))
        return offered, made

    def open(self, frame: bytearray, src: int) -> tuple[Any, dict[int, Any]]:
        """Take the offers off a frame: their `Sender`, and them by number of the array; (None, {}) if declined."""
        packed, arrays = _take_off(frame)
        sender = self._known.get(src)
        if sender is None or sender.packed != packed:
            try:
                if not self._willing:
                    raise OSError("not wanted here")
                self._known[src] = sender = Sender(packed)
            except OSError as error:
                logger.debug("large arrays of rank %s come by MPI: %s", src, error)
                self._decline(src, [offer.number for offer in arrays.values()])
                return None, {}
        return sender, arrays

    def _decline(self, src: int, numbers: list[int]) -> None:
        body = b"".join([_NUMBER.pack(number) for number in numbers])
        head = pack_header(
            kind=MessageType.DECLINE,
            mode=RAW,
            transfers=1,  # as if an array followed: only such frames are shown to `MPITransport._post_receives`
            src=self._transport.rank,
            length=HEADER_SIZE + len(body),
        )
        self._transport.send(src, head + body, [], 0)

    def declined(self, frame: bytearray, src: int) -> None:
        """A rank wants none of what it was offered, and nothing else."""
        end = HEADER_SIZE + (len(frame) - HEADER_SIZE) // _NUMBER.size * _NUMBER.size
        for (number,) in _NUMBER.iter_unpack(frame[HEADER_SIZE:end]):
            giving = self.out.get(number)
            if giving is not None and giving.dst == src:
                self.stop_offering(src)
                giving.declined = True

    def stop_offering(self, dst: int) -> None:
        """Large arrays for this rank go by MPI from now on."""
        self._declining.add(dst)

    def recognises(self, dst: int, pid: int, address: int, token: bytes) -> bool:
        """Whether a rank's process is the one that it says, and may be written into."""
        known = self._recognised.get(dst)
        if known is None:
            known = self._recognised[dst] = b"" if recognise(pid, address, token) else token
        return known == token


class Sender:
    """A process that offers something: who it says it is, and its slots. OSError if they are out of reach."""

    def __init__(self, packed: bytes) -> None:
        self.packed, self.identity = packed, read_identity(packed)
        self.slots = map_slots(self.identity)


class OfferSend:
    """A request for the sending of an offered array."""

    def __init__(self, offers: Offers, own: OwnSlots, dst: int, source: Any, tag: int) -> None:
        self._offers, self._own, self.dst, self._tag, self._source = offers, own, dst, tag, source
        self._slots = own.slots
        self.array = _memory(source)
        self.place, self.number = own.free.popleft(), own.new_number()
        self.declined = False
        self._helps = True
        self._requests: list[Any] | None = None  # once MPI sends it
        self._slots.offer(self.place, self.number, source.nbytes)
        offers.out[self.number] = self

    def Test(self) -> bool:
        """Help for a while; whether the array is not needed any more."""
        if self._requests is not None:
            return self._offers._transport.test_all(self._requests)
        stage = self._slots.stage(self.place, self.number)
        if stage == ACCEPTED:
            if self._helps:
                self._help()
            return False
        if stage == OVER:
            self.withdraw()
            return True
        if stage == REFUSED or self.declined:
            self._offers.stop_offering(self.dst)
            self.withdraw()
            self._requests = []
            for request in self._offers._transport.send_pieces(self.dst, self._source.reshape(-1).view(np.uint8), self._tag):
                self._requests.append(request)
        elif stage != cross_memory.OFFERED:
            del self._offers.out[self.number]  # and the slot is lost
            raise ConnectionError(f"somebody else wrote into slot {self.place}")
        return False

    def _help(self) -> None:
        pid, address, token = self._slots.receiver(self.place)
        self._helps = self._offers.recognises(self.dst, pid, address, token)
        if self._helps:
            self._helps = self._slots.give(self.place, self.number, self.array, STEP) == MORE

    def withdraw(self) -> None:
        """The slot is free again: nobody will look at it any more."""
        if self._offers.out.pop(self.number, None) is not None:
            self._own.free.append(self.place)


class OfferReceive:
    """A request that receives one offered array; if it fails, its message fails."""

    def __init__(
        self, transport: Any, bulk: FrameWithArrays, sender: Sender, offer: Offer, array: Any, src: int, tag: int
    ) -> None:
        self._transport, self._bulk, self._sender, self._raw, self._src, self._tag = transport, bulk, sender, array, src, tag
        self._place, self._number, self._address = offer.place, offer.number, offer.address
        self._pid = sender.identity.pid
        self._into: Any = None  # its memory, once accepted
        self._refused = False
        self._requests: list[Any] | None = None  # once MPI receives it

    def Test(self) -> bool:
        """Copy for a while; whether the array is there."""
        if self._requests is not None:
            return self._transport.test_all(self._requests)
        if self._into is None and not self._accept():
            return True
        said = self._sender.slots.take(self._place, self._number, self._pid, self._address, self._into, STEP)
        if said == MORE:
            return False
        return self._finish() if said == DONE else self._hindered(said)

    def _accept(self) -> bool:
        into, own = Array(self._raw, True), own_slots()
        if own is None or not self._sender.slots.accept(self._place, self._number, own.identity.pid, into, own.slots):
            text = f"malformed message: an array of {self._raw.nbytes} bytes is not what rank {self._src} offers"
            self._fail(ValueError(text))
            return False
        self._into = into
        return True

    def _finish(self) -> bool:
        """Everything is claimed, and nobody writes any more."""
        self._into = None
        self._sender.slots.say(self._place, self._number, REFUSED if self._refused else OVER)
        if self._refused:
            self._requests = []
            for request in self._transport.receive_pieces(self._src, self._raw, self._tag):
                self._requests.append(request)
        return not self._refused

    def _hindered(self, said: int) -> bool:
        """The sender is still at it, or gone, or the system does not copy this memory."""
        them = self._sender.identity
        found = recognise(them.pid, them.address, them.token)  # it may have become unreadable: then MPI still reaches it
        if found not in (0, errno.EPERM, errno.EACCES) or said != LATER and said not in _SYSTEM_ERRORS:
            _left.append(self._into)
            self._fail(ConnectionError(f"rank {self._src} was lost in the middle of an array of {self._raw.nbytes} bytes"))
            return True
        if said != LATER:
            logger.debug("an array of rank %s comes by MPI: %s", self._src, os.strerror(said))
            self._refused = True
        return False

    def _fail(self, error: Exception) -> None:
        logger.error("a message could not be received: %s", error)
        self._bulk.followed = error


def _memory(array: Any) -> Array:
    try:
        return Array(array)
    except ValueError:  # NumPy lends no memory of dates
        return Array(array.reshape(-1).view(np.uint8))


def _large(follow: list[Any]) -> list[tuple[int, int]]:
    """The arrays to be offered: which, and how many tags are before its own. None if anything is on a device."""
    large, place = [], 0
    for nth, array in enumerate(follow):
        if type(array) is Outgoing:
            return []
        nbytes = array.nbytes
        if nbytes >= SHARE_MIN:
            large.append((nth, place))
        place += tags_of(nbytes)
    return large


def _take_off(frame: bytearray) -> tuple[bytes, dict[int, Any]]:
    """Who offers, and what, from the end of a frame, which is as if nothing had been offered afterwards."""
    count, length = transfers_of(frame), len(frame)
    (offered,) = _COUNT.unpack_from(frame, length - _COUNT.size)
    end = length - _TAIL
    start = end - offered * _ARRAY.size
    if start < HEADER_SIZE or not 0 < offered <= count:
        raise ValueError(f"malformed message: {offered} arrays offered in a frame of {length} bytes with {count} transfers")
    arrays = {offer.nth: offer for offer in map(Offer._make, _ARRAY.iter_unpack(frame[start:end]))}
    if len(arrays) < offered or any(nth >= count or not 0 < place < cross_memory.COUNT for nth, place, _, _ in arrays.values()):
        raise ValueError(f"malformed message: {offered} offers that cannot be: {list(arrays.values())[:4]}")
    packed = bytes(frame[end : end + IDENTITY_SIZE])
    del frame[start:]
    frame[FLAGS_OFFSET] &= ~OFFERED
    LENGTH.pack_into(frame, LENGTH_OFFSET, start)
    return packed, arrays
