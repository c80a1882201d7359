"""Transport over MPI: persistent receives for frames, non-blocking transfers and offers for large arrays.

Why a ring of receives: `Test` on a posted receive costs 0.25 us and needs no probe, allocation or Status. A round trip takes
3.9 us this way, and 7.8 us with probes (`Improbe` + `Mrecv`; Open MPI. With MPICH 5.9 and 8.1 us).

Invariants of the transport
- All receives of the ring are equal (any source, one tag, FRAME_MAX bytes). MPI matches them in the order in which they were
  started, so it suffices to test the oldest one.
- A frame fits into FRAME_MAX by construction; its true length is in its header.
- Transfers of one message use consecutive tags, which the sender counts; an array of more than CHUNK bytes uses several.
- Back-pressure: at most WINDOW sends to one rank are in flight; further frames wait in a queue for that rank, in order. (Open MPI
  never frees the memory of concurrent sends: 200 MB for 10,000 of them.) A rank that receives nothing blocks only its own queue.
- Every MPI call here is made by the thread that holds the agent's lock.

Why offers: within a host MPI lets one rank copy a large array while the other waits; an offered array is copied by both, each
taking chunks. The protocol
- The sender assigns a slot (`cross_memory.pyx`) to each array, marks the frame (flag OFFERED), and appends the offers (slot and
  address of each array) and its identity. It does not send these arrays with MPI.
- The receiver maps the sender's slots on the first offer. If that works, it *accepts* by a word in the slot, which the sender
  reads in its own memory. Both copy; the receiver marks the slot as *over*. No further messages are needed.
- If that fails (another host or container, no permission, plain Python), the receiver *declines* with a frame, and receives the
  arrays from MPI, with the tags that are reserved for them. The sender sends them, and makes no more offers to that rank.
- If memory turns out to be unreadable during the copy, the receiver *refuses* the transfer in its slot, once no process writes
  any more, and receives the array from MPI. The sender makes no more offers to it either.

Once an offer was accepted, and if no core is idle to help (or MPIGRAD_HOST_TRANSFERS says so), arrays for this rank are *lent*
instead (`lending.py`): the frame says where in the sender's shared memory they are, and the message is complete.

Invariants of offers
- Nothing is collective, and nothing is allocated before the first large array. Per rank one mapping or one word is kept.
- The sender keeps array and slot until the receiver has finished with them; forever, if the receiver never does.
- The receiver's array is passed on when all chunks are copied and the sender has claimed none of them. Then no process writes.
- The sender writes only into a process that it has recognised by its token, and only chunks that it has claimed in the slot.
- A receiver can finish alone: a busy sender delays nothing. A request copies and never waits.
"""

from __future__ import annotations

import errno
import logging
import os
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from mpigrad.distributed._mpi import mpi, mpi_turn, oversubscribed, turn_lock
from mpigrad.distributed.rpc._protocol.message import (
    FLAGS_OFFSET,
    HEADER_SIZE,
    LENGTH,
    LENGTH_OFFSET,
    OFFERED,
    RAW,
    MessageType,
)
from mpigrad.distributed.rpc._transport.device.channel import Channel, RequestGroup
from mpigrad.distributed.rpc._transport.device.send import Outgoing
from mpigrad.distributed.rpc._transport.receive_pool import receive_array
from mpigrad.distributed.rpc._transport.shared_memory.lending import Borrowed, lender
from mpigrad.distributed.rpc._transport.shared_memory.slots import (
    IDENTITY_SIZE,
    OwnSlots,
    checked_way,
    map_slots,
    own_slots,
    read_identity,
)

from .. import guard
from . import cross_memory
from .cross_memory import ACCEPTED, DONE, LATER, MORE, OVER, REFUSED, Array, recognise
from .frames import connect, flags_of, kind_of, pack_header, transfers_of
from .transport import (
    CHUNK,
    FRAME_MAX,
    LARGEST,
    FrameWithArrays,
    Transport,
    copied,
    failed,
    fetch_with_devices,
    origin_of,
    tags_of,
    transfer_sizes,
)

# -- offers: large arrays between ranks of one host --------------------------------------------------------------------
logger = logging.getLogger(__name__)

SHARE_MIN = 512 * 1024  # bytes; smaller arrays are sent by MPI
STEP = 64 << 20  # bytes that one `Test` copies at most, so that frames are handled in between
_ARRAY = struct.Struct("<HHIQ")  # the fields of an `Offer`
_COUNT = struct.Struct("<H")
_NUMBER = struct.Struct("<I")
_TAIL = IDENTITY_SIZE + _COUNT.size
_SYSTEM_ERRORS = range(1, 4096)

_left: list[Any] = []  # memory of aborted transfers, kept because the other process may still write to it


class Offer(NamedTuple):
    """One offered array, as the frame describes it."""

    nth: int  # index among the arrays that follow the frame
    place: int  # index of the sender's slot; 0: the array is lent
    number: int  # of the transfer; of a lent array: its index in the table
    address: int  # in the sender's memory; of a lent array: where it begins in the file


class Offers:
    """The offers of one transport: those that it has made, and what is known of the ranks that make offers to it."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        way = checked_way()
        self._willing = way != "mpi" and cross_memory.CAN  # whether to accept offers
        self._lending = self._willing and (way == "lend" or (way == "auto" and transport.oversubscribed))
        self._offering = self._willing
        self._mark = object()  # marks what was lent by this transport
        self._declining: set[int] = set()  # ranks that have declined
        self._accepting: set[int] = set()  # ranks that have accepted an offer, and so can open files of this process
        self._recognised: dict[int, bytes] = {}  # rank -> token of its process, if this one may write to its memory; b"" if not
        self._known: dict[int, Sender] = {}  # ranks that have made offers
        self.out: dict[int, OfferSend] = {}  # by number

    def make(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> tuple[Any, dict[int, OfferSend]] | None:
        """Offer the large arrays of a message: add the offers to its frame.

        Returns the new frame and a dict of the requests, by index of the array in `follow`; None if nothing is offered
        (no large array, another host, no free slot). `tag` is the first tag of the message's transfers.
        """
        if not self._offering or dst in self._declining:
            return None
        if len(follow) == 1 and follow[0].nbytes < SHARE_MIN:
            return None
        large = _large(follow)
        if not large:
            return None
        own = own_slots()
        if own is None or len(frame) + len(large) * _ARRAY.size + _TAIL > FRAME_MAX:
            return None
        if self._lending and dst in self._accepting:
            return self._lend(dst, frame, follow, large, own)
        if len(large) > len(own.free):
            return None
        made: dict[int, OfferSend] = {}
        offered = bytearray(frame)
        try:
            for nth, place in large:
                made[nth] = giving = OfferSend(self, own, dst, follow[nth], tag + place)
                offered += _ARRAY.pack(nth, giving.place, giving.number, giving.array.address)
        except IndexError:  # another transport has taken the last free slot meanwhile
            for giving in made.values():
                giving.withdraw()
            return None
        return _closed(offered, own, len(large)), made

    def _lend(self, dst: int, frame: bytes, follow: list[Any], large: list[Any], own: OwnSlots) -> Any:
        """Copy the large arrays into lent memory, and add to the frame where they are; None if too much is lent already."""
        own_lender = lender(own)
        made: dict[int, Any] = {}
        offered = bytearray(frame)
        for nth, _ in large:
            block = None if own_lender is None else own_lender.lend(follow[nth], (self._mark, dst))
            if block is not None:
                made[nth] = block
                offered += _ARRAY.pack(nth, 0, block.index, block.offset)
        return (_closed(offered, own, len(made)), made) if made else None

    def open(self, frame: bytearray, src: int) -> tuple[Any, dict[int, Any]]:
        """Remove the offers from a received frame; returns their `Sender`, and the offers by index of the array.

        If they cannot be accepted, sends a DECLINE to the rank `src` and returns (None, {}): MPI will bring the arrays.
        """
        packed, arrays = _take_off(frame)
        sender = self._known.get(src)
        if sender is None or sender.packed != packed:
            try:
                if not self._willing:
                    raise OSError("switched off on this rank")
                self._known[src] = sender = Sender(packed)
            except OSError as error:
                logger.debug("large arrays of rank %s come by MPI: %s", src, error)
                self._decline(src, [offer.number for offer in arrays.values()])
                return None, {}
        return sender, arrays

    def _decline(self, src: int, numbers: list[int]) -> None:
        """Send a DECLINE of the offers with these numbers."""
        body = b"".join([_NUMBER.pack(number) for number in numbers])
        head = pack_header(
            kind=MessageType.DECLINE,
            mode=RAW,
            transfers=1,  # pretends that an array follows: only such frames reach `MPITransport._post_receives`
            src=self._transport.rank,
            length=HEADER_SIZE + len(body),
        )
        self._transport.send(src, head + body, [], 0)

    def declined(self, frame: bytearray, src: int) -> None:
        """Handle a DECLINE of the rank `src`: send the offered arrays by MPI, and make no more offers to that rank."""
        end = HEADER_SIZE + (len(frame) - HEADER_SIZE) // _NUMBER.size * _NUMBER.size
        for (number,) in _NUMBER.iter_unpack(frame[HEADER_SIZE:end]):
            giving = self.out.get(number)
            if giving is not None and giving.dst == src:
                self.stop_offering(src)
                giving.declined = True

    def reclaim(self, dst: int) -> None:
        """Take back what was lent to a rank whose process has ended."""
        own = own_slots()
        own_lender = lender(own) if own is not None and dst in self._accepting else None
        if own_lender is not None:
            own_lender.reclaim((self._mark, dst))

    def stop_offering(self, dst: int) -> None:
        """From now on send large arrays to this rank by MPI."""
        self._declining.add(dst)

    def recognises(self, dst: int, pid: int, address: int, token: bytes) -> bool:
        """Return whether the process `pid` is the rank `dst`, so that this one may write to its memory.

        It is if it has the rank's token at this address; the answer is remembered.
        """
        known = self._recognised.get(dst)
        if known is None:
            known = self._recognised[dst] = b"" if recognise(pid, address, token) else token
        return known == token


class Sender:
    """A process that makes offers: its identity (as in its frames) and its slots. OSError if these cannot be mapped."""

    def __init__(self, packed: bytes) -> None:
        self.packed, self.identity = packed, read_identity(packed)
        self.slots = map_slots(self.identity)
        self.lent: Any = None  # the memory that it lends, from the first lent array on

    def borrow(self, offer: Offer, nbytes: int) -> Any:
        """Return an array that was lent."""
        if self.lent is None:
            self.lent = Borrowed(self.identity, self.slots.lent_file)
        return self.lent.borrow(offer.number, offer.address, nbytes)


class OfferSend:
    """A request, like those of MPI, for an array that this rank offers to the rank `dst` on its host.

    `source` is the array, `tag` the first MPI tag reserved for it, in case it has to be sent by MPI.
    """

    def __init__(self, offers: Offers, own: OwnSlots, dst: int, source: Any, tag: int) -> None:
        self._offers, self._own, self.dst, self._tag, self._source = offers, own, dst, tag, source
        self._slots = own.slots
        self.array = _memory(source)
        self.place, self.number = own.free.popleft(), own.new_number()
        self.declined = False
        self._helps = True
        self._requests: list[Any] | None = None  # MPI's requests, if it is sent by MPI
        self._slots.offer(self.place, self.number, source.nbytes)
        offers.out[self.number] = self

    def Test(self) -> bool:
        """Copy some chunks if the receiver has accepted; True when the array is no longer needed."""
        if self._requests is not None:
            return self._offers._transport.test_all(self._requests)
        stage = self._slots.stage(self.place, self.number)
        if stage == ACCEPTED:
            if self._helps:
                self._help()
            return False
        if stage == OVER:
            self._offers._accepting.add(self.dst)
            self.withdraw()
            return True
        if stage == REFUSED or self.declined:
            self._offers.stop_offering(self.dst)
            self.withdraw()
            self._requests = []
            for request in self._offers._transport.send_pieces(self.dst, self._source.reshape(-1).view(np.uint8), self._tag):
                self._requests.append(request)
        elif stage != cross_memory.OFFERED:
            del self._offers.out[self.number]  # the slot cannot be reused
            raise ConnectionError(f"slot {self.place} contains an unknown state: another process has written to it")
        return False

    def _help(self) -> None:
        pid, address, token = self._slots.receiver(self.place)
        self._helps = self._offers.recognises(self.dst, pid, address, token)
        if self._helps:
            self._helps = self._slots.give(self.place, self.number, self.array, STEP) == MORE

    def withdraw(self) -> None:
        """Free the slot of this offer; no process uses it any more."""
        if self._offers.out.pop(self.number, None) is not None:
            self._own.free.append(self.place)


class OfferReceive:
    """A request, like those of MPI, for an array that the rank `src` of this host has offered.

    `bulk` is its message, which fails if the array cannot be received; `array` is the memory that receives it.
    """

    def __init__(
        self, transport: Any, bulk: FrameWithArrays, sender: Sender, offer: Offer, array: Any, src: int, tag: int
    ) -> None:
        self._transport, self._bulk, self._sender, self._raw, self._src, self._tag = transport, bulk, sender, array, src, tag
        self._place, self._number, self._address = offer.place, offer.number, offer.address
        self._pid = sender.identity.pid
        self._into: Any = None  # the receiving memory, once accepted
        self._refused = False
        self._requests: list[Any] | None = None  # MPI's requests, if it is received by MPI

    def Test(self) -> bool:
        """Copy some chunks; True when the array is complete or has failed."""
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
        """Report in the slot how the transfer ended, as no process writes any more; returns whether the array is complete.

        If the sender's memory could not be read, starts to receive the array from MPI.
        """
        self._into = None
        self._sender.slots.say(self._place, self._number, REFUSED if self._refused else OVER)
        if self._refused:
            self._requests = []
            for request in self._transport.receive_pieces(self._src, self._raw, self._tag):
                self._requests.append(request)
        return not self._refused

    def _hindered(self, said: int) -> bool:
        """Handle a `take` that could not copy, because the sender stalls or has ended, or the kernel refuses to copy its memory.

        `said` is what `take` returned. Returns True if the message has failed.
        """
        them = self._sender.identity
        # EPERM or EACCES: its memory is not readable any more, but it is alive, so MPI can still be used
        found = recognise(them.pid, them.address, them.token)
        if found not in (0, errno.EPERM, errno.EACCES) or said != LATER and said not in _SYSTEM_ERRORS:
            if getattr(self._transport, "reports_losses", False):
                return False  # MPI is about to report the loss, which drops this message
            _left.append(self._into)
            self._fail(ConnectionError(f"rank {self._src} was lost in the middle of an array of {self._raw.nbytes} bytes"))
            return True
        if said != LATER:
            logger.debug("an array of rank %s comes by MPI: %s", self._src, os.strerror(said))
            self._refused = True
        return False

    def _fail(self, error: Exception) -> None:
        """Let the message fail; decoding it raises the error."""
        logger.error("a message could not be received: %s", error)
        self._bulk.followed = error


def _memory(array: Any) -> Array:
    try:
        return Array(array)
    except ValueError:  # NumPy exports no buffer for datetime types
        return Array(array.reshape(-1).view(np.uint8))


def _large(follow: list[Any]) -> list[tuple[int, int]]:
    """Return the arrays to offer, as pairs of index and offset of the first tag; empty if any array is on a GPU."""
    large, place = [], 0
    for nth, array in enumerate(follow):
        if type(array) is Outgoing:
            return []
        nbytes = array.nbytes
        if nbytes >= SHARE_MIN:
            large.append((nth, place))
        place += tags_of(nbytes)
    return large


def _closed(offered: bytearray, own: OwnSlots, count: int) -> bytearray:
    """Complete a frame after its `count` offers."""
    offered += own.packed
    offered += _COUNT.pack(count)
    offered[FLAGS_OFFSET] |= OFFERED
    LENGTH.pack_into(offered, LENGTH_OFFSET, len(offered))
    return offered


def _take_off(frame: bytearray) -> tuple[bytes, dict[int, Any]]:
    """Remove the offers from the end of a frame; returns the packed identity of the sender, and the offers by index of the array.

    ValueError if the frame is malformed.
    """
    count, length = transfers_of(frame), len(frame)
    (offered,) = _COUNT.unpack_from(frame, length - _COUNT.size)
    end = length - _TAIL
    start = end - offered * _ARRAY.size
    if start < HEADER_SIZE or not 0 < offered <= count:
        raise ValueError(f"malformed message: {offered} arrays offered in a frame of {length} bytes with {count} transfers")
    arrays = {offer.nth: offer for offer in map(Offer._make, _ARRAY.iter_unpack(frame[start:end]))}
    if len(arrays) < offered or any(nth >= count or not 0 <= place < cross_memory.COUNT for nth, place, _, _ in arrays.values()):
        raise ValueError(f"malformed message: {offered} invalid offers: {list(arrays.values())[:4]}")
    packed = bytes(frame[end : end + IDENTITY_SIZE])
    del frame[start:]
    frame[FLAGS_OFFSET] &= ~OFFERED
    LENGTH.pack_into(frame, LENGTH_OFFSET, start)
    return packed, arrays


# -- the transport -----------------------------------------------------------------------------------------------------
RING = 16  # posted receives
WINDOW = 256  # sends in flight per rank
COMING_SECONDS = 60.0  # time for an announced array to start arriving
COMING_MAX = 4096  # messages with arrays in flight; above it, those that have not started to arrive are given up earlier
CLOSE_SECONDS = 5.0  # time for sends to complete after all ranks have agreed to close
LEAVE_SECONDS = 0.25  # time without a completed send before a leaving rank abandons the rest
_length_at = LENGTH.unpack_from
_GATHER_BYTES = 260
_NO_HEADER = bytes(HEADER_SIZE)
_NO_OFFERS: tuple[Any, dict[int, Any]] = (None, {})
_LEAVE, _DECLINE = int(MessageType.LEAVE), int(MessageType.DECLINE)


class MPITransport(Transport):
    """The transport over one communicator, which has no other users, or none of its tags from `first_tag` on."""

    def __init__(self, comm: Any, first_tag: int = 0) -> None:
        MPI = mpi()
        self._mpi = MPI
        self._comm = comm
        self._byte = MPI.BYTE
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self.oversubscribed = oversubscribed()
        self.lock = turn_lock()
        self.bytes_sent = self.bytes_received = 0
        self._frame_tag = first_tag
        self._first_tag = first_tag + 1
        upper = comm.Get_attr(MPI.TAG_UB) or 32767
        self._tags = upper - self._first_tag  # tags of transfers are counted modulo this, since MPI limits them
        self._sends: deque[tuple[Any, int]] = deque()  # sends in flight: request and destination
        self._under_way: dict[int, int] = {}  # rank -> number of sends in flight
        self._queued: dict[int, deque[tuple[bytes, list[Any], int]]] = {}  # rank -> frames that wait; no empty deques
        self._coming: list[tuple[list[Any], FrameWithArrays, float]] = []  # requests, their message, deadline
        self._looks = 0
        self._ready: deque[bytearray] = deque()  # messages of this rank to itself, and completed messages with arrays
        self._offers = Offers(self)
        self.dead: set[int] = set()  # lost ranks: nothing is sent to them, and their frames are dropped
        self._gathers: list[tuple[bytes, bytearray, Any]] = []  # all-gathers of the start: sent, received, request
        self._gathered = 0  # number of completed ones
        self._direct: Any = None  # sends and receives frames without mpi4py, if the module is compiled
        self._open_ring()

    def _open_ring(self) -> None:
        """Start the persistent receives of frames."""
        MPI = self._mpi
        self._buffers = [bytearray(FRAME_MAX) for _ in range(RING)]
        self._ring = [self._comm.Recv_init([b, MPI.BYTE], MPI.ANY_SOURCE, self._frame_tag) for b in self._buffers]
        self._at = 0
        MPI.Prequest.Startall(self._ring)
        self._direct = connect(MPI, self._comm, self._frame_tag, self._ring, self._buffers)

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        if dst == self.rank:  # copied, since the caller may change its arrays after the call, as with a message
            self._ready.append(copied(frame, follow, self.device_receiver))
            return
        if self.dead and dst in self.dead:
            return
        # a frame must not overtake queued ones; the first test is a fast path
        if self._under_way and (dst in self._queued or self._under_way.get(dst, 0) >= WINDOW):
            self._queued.setdefault(dst, deque()).append((frame, follow, tag))
        else:
            self.send_now(dst, frame, follow, tag)

    def send_now(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Start a send at once, whatever the window; a lost rank is ignored by `SurvivingTransport`."""
        try:
            self._send(dst, frame, follow, tag)
        except Exception as error:
            self.send_raised(dst, error)

    def send_raised(self, dst: int, error: Exception) -> None:
        """Handle the error of a send to `dst`. `SurvivingTransport` ignores it if the rank turns out to be lost."""
        raise error

    def _send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        direct = self._direct
        if direct is not None and not follow:  # the usual case: MPI is called without mpi4py
            self.bytes_sent += len(frame)
            sending = direct.send(frame, dst)
            if sending is not None:
                self._keep(sending, dst)
            return
        offered = self._offers.make(dst, frame, follow, tag) if follow else None
        if offered is not None:
            frame = offered[0]
        self.bytes_sent += len(frame)
        try:
            request = self._comm.Isend([frame, self._byte], dst, self._frame_tag)
        except Exception:
            if offered is not None:
                for giving in offered[1].values():
                    giving.withdraw()
            raise
        try:
            if follow:
                self._send_arrays(dst, follow, tag, {} if offered is None else offered[1])
        finally:
            if not request.Test():  # MPI sends small frames eagerly, so most are complete already
                self._keep(request, dst)

    def _keep(self, request: Any, dst: int) -> None:
        """Remember a send in flight until it completes, and count it for the window of the rank."""
        self._sends.append((request, dst))
        self._under_way[dst] = self._under_way.get(dst, 0) + 1

    def _send_arrays(self, dst: int, follow: list[Any], tag: int, offered: dict[int, Any]) -> None:
        for nth, array in enumerate(follow):
            self.bytes_sent += array.nbytes
            if type(array) is Outgoing:
                aware = self.device_receiver is not None and self.device_receiver.cuda_aware
                self._keep(array.start(self._channel(dst, tag), aware), dst)
                tag += 1
                continue
            if nth in offered:
                if type(offered[nth]) is OfferSend:  # a lent array is complete
                    self._keep(offered[nth], dst)
                tag += tags_of(array.nbytes)  # reserved: if the receiver declines, the array is sent with these tags
                continue
            for request in self.send_pieces(dst, array.reshape(-1).view(np.uint8), tag):
                self._keep(request, dst)
                tag += 1

    def send_pieces(self, dst: int, raw: Any, tag: int) -> Iterable[Any]:
        """Start to send an array of bytes by MPI, in messages with consecutive tags from `tag` on; returns the requests."""
        if 0 < raw.nbytes <= CHUNK:
            return (self._comm.Isend([raw, self._byte], dst, self._first_tag + tag % self._tags),)
        return self._in_pieces(self._comm.Isend, dst, raw, tag)  # MPI counts are 32-bit ints: at most 2 GiB in one message

    def receive_pieces(self, src: int, raw: Any, tag: int) -> Iterable[Any]:
        """Start to receive into `raw` an array that `send_pieces` sent with these tags; returns the requests."""
        if 0 < raw.nbytes <= CHUNK:
            return (self._comm.Irecv([raw, self._byte], src, self._first_tag + tag % self._tags),)
        return self._in_pieces(self._comm.Irecv, src, raw, tag)

    def _in_pieces(self, start: Callable[..., Any], peer: int, raw: Any, tag: int) -> Iterator[Any]:
        """Start the messages of an array, one by one: if one fails, the caller has the requests of the earlier ones."""
        for nth in range(tags_of(raw.nbytes)):
            part = raw[nth * CHUNK : (nth + 1) * CHUNK]
            yield start([part, self._byte], peer, self._first_tag + (tag + nth) % self._tags)

    def test_all(self, requests: list[Any]) -> bool:
        """Return whether all these requests of MPI have completed; never blocks."""
        return bool(self._mpi.Request.Testall(requests))

    def _channel(self, peer: int, tag: int) -> Channel:
        return Channel(self._mpi, self._comm, peer, self._first_tag + tag % self._tags)

    def poll(self, tries: int) -> bytearray | None:
        try:
            return self._poll(tries)
        except Exception as error:
            self.poll_raised(error)
        return None

    def poll_raised(self, error: Exception) -> None:
        """Handle the error of a poll. `SurvivingTransport` ignores it if a rank turns out to be lost."""
        raise error

    def _poll(self, tries: int) -> bytearray | None:
        if self._ready:
            return self._ready.popleft()
        if self._sends:
            self._recycle()
            if self._offers.out:
                tries = 1  # return soon, to help copying the offered arrays
        if self._coming:
            self._complete_bulk()
            tries = 1  # return soon, to continue receiving arrays
        direct = self._direct
        frame = self._take(tries) if direct is None else direct.take(tries)
        if frame is None:
            return self._ready.popleft() if self._ready else None
        self.bytes_received += len(frame)
        if not frame:
            logger.error("a message without a header was dropped")
            return None
        if self.dead and origin_of(frame)[0] in self.dead:
            return None
        if transfers_of(frame):
            self._fetch(frame)
            self._complete_bulk()
            return self._ready.popleft() if self._ready else None
        return frame

    def _take(self, tries: int) -> bytearray | None:
        """Return the next frame, after up to `tries` tests; None if none has arrived, empty if it has no header."""
        at = self._at
        request = self._ring[at]
        while not request.Test():
            tries -= 1
            if tries <= 0:
                return None
        buffer = self._buffers[at]
        length = _length_at(buffer, LENGTH_OFFSET)[0]
        frame = buffer[: length if HEADER_SIZE <= length <= FRAME_MAX or not length else HEADER_SIZE]
        buffer[:HEADER_SIZE] = _NO_HEADER  # or a message that is too short would look like this one
        request.Start()  # after the copy: MPI may write the next message into the buffer from now on
        self._at = at + 1 if at + 1 < RING else 0
        return frame

    def _fetch(self, frame: bytearray) -> None:
        """Post the receives of the arrays that follow a frame. If that raises, the message is delivered with the error."""
        try:
            self._post_receives(frame)
        except Exception as error:
            logger.error("a message could not be received: %s", error)
            self._ready.append(failed(frame, error))

    def _post_receives(self, frame: bytearray) -> None:
        src, tag = origin_of(frame)
        if not 0 <= src < self.size:
            raise ValueError(f"malformed message: it says that it comes from rank {src} of {self.size}")
        if kind_of(frame) == _DECLINE:
            self._offers.declined(frame, src)
            return
        sender, offers = self._offers.open(frame, src) if flags_of(frame) & OFFERED else _NO_OFFERS
        sizes = transfer_sizes(frame)
        if max(sizes) > LARGEST:
            self._receive_on_devices(frame, sizes, src, tag)
            return
        bulk = FrameWithArrays(frame)
        bulk.followed = []
        requests: list[Any] = []
        for nth, size in enumerate(sizes):
            self.bytes_received += size
            offer = offers.get(nth)
            if offer is not None and not offer.place:
                array = sender.borrow(offer, size)
            else:
                array = receive_array(size)
                if offer is not None:
                    requests.append(OfferReceive(self, bulk, sender, offer, array, src, tag))
                else:
                    requests.extend(self.receive_pieces(src, array, tag))
            bulk.followed.append(array)
            tag += tags_of(size)
        if not requests:
            self._ready.append(bulk)
            return
        # offers are not requests of MPI, so `Testall` cannot test them
        self._expect([RequestGroup(requests)] if offers and len(requests) > 1 else requests, bulk)

    def _receive_on_devices(self, frame: bytearray, sizes: list[int], src: int, tag: int) -> None:
        entry = fetch_with_devices(frame, sizes, self.device_receiver, lambda nth: self._channel(src, tag + nth))
        self.bytes_received += sum(array.nbytes for array in entry[1].followed)
        self._expect(*entry)

    def _expect(self, requests: list[Any], bulk: FrameWithArrays) -> None:
        self._coming.append((requests, bulk, time.monotonic() + COMING_SECONDS))

    def _complete_bulk(self) -> None:
        """Test the messages whose arrays are coming; complete ones become ready."""
        still = []
        for entry in self._coming:
            requests, bulk, _ = entry
            try:
                over = requests[0].Test() if len(requests) == 1 else self._mpi.Request.Testall(requests)
            except Exception as error:
                self.receive_raised(requests, bulk, error)
                continue
            if over:
                self._ready.append(bulk)
            else:
                still.append(entry)
        if self.dead:  # a rank may have been lost meanwhile, whose messages `abandon` has dropped
            still = [entry for entry in still if origin_of(entry[1])[0] not in self.dead]
        self._coming = still
        self._looks += 1
        if still and (not self._looks & 1023 or len(still) > COMING_MAX):  # deadlines are long: check them rarely
            self._expire(time.monotonic())

    def receive_raised(self, requests: list[Any], bulk: FrameWithArrays, error: Exception) -> None:
        """Handle the error of receiving the arrays of the message `bulk`: the message fails.

        `SurvivingTransport` drops the messages of lost ranks instead.
        """
        src = origin_of(bulk)[0]
        logger.error("arrays of rank %s could not be received: %s", src, error)
        _abandoned.append((requests, bulk.followed))  # MPI may still use their memory
        bulk.followed = ConnectionError(f"arrays of rank {src} could not be received: {error}")
        self._ready.append(bulk)

    def _expire(self, now: float) -> None:
        """Give up arrays that were announced long ago and have not started to arrive: the sender or its frame is broken.

        Without this, malformed frames could fill the memory with receive buffers.
        """
        spare = len(self._coming) - COMING_MAX
        for nth, (requests, bulk, limit) in enumerate(self._coming):
            # only receives of MPI can be cancelled
            if (limit <= now or nth < spare) and all(isinstance(each, self._mpi.Request) for each in requests):
                self._coming[nth] = ([RequestGroup([_Cancelled(self._mpi, each, bulk) for each in requests])], bulk, _NEVER)

    def _recycle(self) -> None:
        """Test a few of the sends in flight, and forget those that are complete."""
        sends = self._sends
        for _ in range(min(len(sends), 8)):  # a few per poll, round robin, so that polls stay short
            request, dst = sends[0]
            try:
                over = request.Test()
            except Exception as error:
                if dst not in self.dead:
                    logger.error("a message to rank %s may not have arrived: %s", dst, error)
                _abandoned.append(request)  # MPI may still use its buffer
                over = True
            if over:
                sends.popleft()
                self._ended(dst)
            else:
                sends.rotate(-1)

    def _ended(self, dst: int) -> None:
        """Count a completed send to `dst`, and send queued frames until the window is full again."""
        left = self._under_way[dst] - 1
        if left:
            self._under_way[dst] = left
        else:
            del self._under_way[dst]
        queue = self._queued.get(dst)
        while queue and self._under_way.get(dst, 0) < WINDOW:
            item = queue.popleft()
            try:
                self.send_now(dst, *item)
            except Exception as error:
                self.send_failed(dst, item[0], error)
        if queue is not None and not queue:
            del self._queued[dst]

    def pending(self) -> bool:
        return bool(self._coming or self._sends or self._ready)

    def unsent(self) -> int:
        return len(self._sends) + sum(map(len, self._queued.values()))

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        mine = len(data).to_bytes(4, "little") + data.ljust(_GATHER_BYTES - 4, b"\0")
        if self._gathered == len(self._gathers):
            everybody = bytearray(_GATHER_BYTES * self.size)
            request = self._comm.Iallgather([mine, self._byte], [everybody, _GATHER_BYTES, self._byte])
            self._gathers.append((mine, everybody, request))
        told, everybody, request = self._gathers[self._gathered]
        if told != mine:
            raise RuntimeError(
                "init_rpc was interrupted after it had told the other ranks its name: call it with the same arguments again"
            )
        wait_for(request, deadline, "the other ranks to call init_rpc", self.check_start)
        self._gathered += 1
        parts = [everybody[i : i + _GATHER_BYTES] for i in range(0, len(everybody), _GATHER_BYTES)]
        return [bytes(part[4 : 4 + int.from_bytes(part[:4], "little")]) for part in parts]

    def check_start(self) -> None:
        """Called now and then while a start waits for other ranks. `SurvivingTransport` raises an error if one is lost."""

    def gather_again(self) -> None:
        """Start over with the first `allgather`, for an `init_rpc` that was interrupted: its requests are reused."""
        self._gathered = 0

    def forget_gathers(self) -> None:
        """Free what the all-gathers of a start have received, when it is over: some 250 bytes for each rank."""
        self._gathers, self._gathered = [], 0

    def close(self, clean: bool) -> None:
        self._close_ring()
        if not clean:
            self._send_last_words()
        self._finish_sends(CLOSE_SECONDS if clean else LEAVE_SECONDS)
        _abandoned.extend(request for request, _ in self._sends)
        _abandoned.extend(self._coming)

    def _close_ring(self) -> None:
        ring, self._ring, self._direct = self._ring, [], None
        buffers, self._buffers = self._buffers, []  # free 1 MiB without waiting for the garbage collector
        for request in ring:
            request.Cancel()  # local: whether it was cancelled or has received a message shows only when it completes
        limit = time.monotonic() + CLOSE_SECONDS
        for request, buffer in zip(ring, buffers):
            if self.completes(request, limit):
                request.Free()
            else:
                _abandoned.append((request, buffer))  # its sender started and then left

    def completes(self, request: Any, limit: float) -> bool:
        """Test a request until the time `limit` (of `time.monotonic()`) has come; returns whether it has completed."""
        while not (over := request.Test()) and time.monotonic() < limit:
            pass
        return over

    def _send_last_words(self) -> None:
        """Drop the queued frames, except LEAVE messages.

        By these the other ranks fail the calls whose answers are dropped.
        """
        queued, self._queued = self._queued, {}
        for dst, queue in queued.items():
            for frame, follow, tag in queue:
                if kind_of(frame) == _LEAVE:
                    self._send(dst, frame, follow, tag)

    def _finish_sends(self, patience: float) -> None:
        """Wait for the sends in flight until none has completed for `patience` seconds, CLOSE_SECONDS at most."""
        began = time.monotonic()
        limit, left = began + patience, len(self._sends)
        while self._sends and time.monotonic() < min(limit, began + CLOSE_SECONDS):
            self._recycle()
            if len(self._sends) < left:
                left, limit = len(self._sends), time.monotonic() + patience


class _Cancelled:
    """A cancelled receive. If its message had started to arrive, MPI completes it; otherwise the message `bulk` fails."""

    def __init__(self, MPI: Any, request: Any, bulk: FrameWithArrays) -> None:
        self._request, self._bulk, self._status = request, bulk, MPI.Status()
        request.Cancel()

    def Test(self) -> bool:
        if not self._request.Test(self._status):
            return False
        if self._status.Is_cancelled():
            src = origin_of(self._bulk)[0]
            self._bulk.followed = ConnectionError(f"an array that rank {src} announced did not come within {COMING_SECONDS:g} s")
        return True


_NEVER = float("inf")
_abandoned: list[Any] = []  # transfers with ranks that left: their buffers must live as long as MPI may use them


def wait_for(request: Any, deadline: float, what: str, check: Callable[[], None] | None = None) -> None:
    """Wait for a request of MPI, with naps between tests; TimeoutError, with the text `what`, after the deadline.

    `check` is called after each test and may raise an error.
    """
    nap = 20e-6
    while True:
        with mpi_turn():
            if request.Test():
                return
            if check is not None:
                check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"timed out waiting for {what}")
        time.sleep(nap)
        guard.deliver()
        nap = min(nap * 1.5, 1e-3)
