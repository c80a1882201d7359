"""Transport over MPI: a ring of pre-posted persistent receives for frames, non-blocking transfers for large arrays (and offers of
very large ones, which ranks of one host copy together: `_core/rpc/offers.py`).

Why a ring: `Test` on a posted receive costs 0.25 us and takes the message without a probe, an allocation or a Status;
probing (`Improbe` + `Mrecv`) needed 7.8 us for a round trip that takes 3.9 us this way (Open MPI; 8.1 and 5.9 us with
MPICH).

Invariants
- All receives of the ring are alike (any source, one tag, FRAME_MAX bytes), so MPI matches them in the order in which
  they were started, and looking only at the oldest one misses nothing.
- A frame fits into FRAME_MAX by construction; its true length is in its header.
- Transfers of one message use consecutive tags counted by the sender; every array of more than CHUNK bytes takes
  several.
- At most WINDOW sends to one rank are under way; frames beyond that wait in a queue for that rank, in order. Open MPI keeps for
  ever what it took for sends under way at the same time: 200 MB for 10,000 of them. A rank that takes nothing holds up its own.
- Every MPI call here is made by the thread that holds the agent's lock.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mpigrad._core import guard
from mpigrad.distributed._mpi import mpi, mpi_turn, oversubscribed, turn_lock
from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, LENGTH, LENGTH_OFFSET, OFFERED, MessageType
from mpigrad.distributed.rpc._transport.device.channel import Channel
from mpigrad.distributed.rpc._transport.device.receive import RequestGroup
from mpigrad.distributed.rpc._transport.device.send import Outgoing

from .base import (
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
from .codec import flags_of, kind_of, transfers_of
from .direct import connect
from .offers import OfferReceive, Offers
from .receive_pool import receive_array

logger = logging.getLogger(__name__)

RING = 16
WINDOW = 256
COMING_SECONDS = 60.0  # for an announced array to begin to come
COMING_MAX = 4096  # messages whose arrays are on their way; above it those that have not begun to come are given up earlier
CLOSE_SECONDS = 5.0  # for sends to end after everybody agreed to close
LEAVE_SECONDS = 0.25  # without a send ending, before a rank that leaves lets them be
_length_at = LENGTH.unpack_from
_GATHER_BYTES = 260
_NO_HEADER = bytes(HEADER_SIZE)
_NO_OFFERS: tuple[Any, dict[int, Any]] = (None, {})
_LEAVE, _DECLINE = int(MessageType.LEAVE), int(MessageType.DECLINE)


class MPITransport(Transport):
    """Frames over one communicator, which nobody else uses (or whose tags from `first_tag` on nobody else uses)."""

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
        self._tags = upper - self._first_tag
        self._sends: deque[tuple[Any, int]] = deque()  # requests under way, and to whom
        self._under_way: dict[int, int] = {}  # rank -> how many of them are to it
        self._queued: dict[int, deque[tuple[bytes, list[Any], int]]] = {}  # rank -> what waits for a place; never empty
        self._coming: list[tuple[list[Any], FrameWithArrays, float]] = []  # requests, their message, when to give them up
        self._looks = 0
        self._ready: deque[bytearray] = deque()  # messages to this rank itself, and completed bulk ones
        self._offers = Offers(self)
        self._gathers: list[tuple[bytes, bytearray, Any]] = []  # what was told and heard when the world started, with requests
        self._gathered = 0  # how many of them are over
        self._direct: Any = None  # sends and receives frames without mpi4py, if the module is compiled
        self._open_ring()

    def _open_ring(self) -> None:
        MPI = self._mpi
        self._buffers = [bytearray(FRAME_MAX) for _ in range(RING)]
        self._ring = [self._comm.Recv_init([b, MPI.BYTE], MPI.ANY_SOURCE, self._frame_tag) for b in self._buffers]
        self._at = 0
        MPI.Prequest.Startall(self._ring)
        self._direct = connect(MPI, self._comm, self._frame_tag, self._ring, self._buffers)

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        if dst == self.rank:
            self._ready.append(copied(frame, follow, self.device_receiver))
            return
        if self._under_way and (dst in self._queued or self._under_way.get(dst, 0) >= WINDOW):
            self._queued.setdefault(dst, deque()).append((frame, follow, tag))
        else:
            self._send(dst, frame, follow, tag)

    def _send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        direct = self._direct
        if direct is not None and not follow:
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
            if not request.Test():
                self._keep(request, dst)

    def _keep(self, request: Any, dst: int) -> None:
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
                self._keep(offered[nth], dst)
                tag += tags_of(array.nbytes)
                continue
            for request in self.send_pieces(dst, array.reshape(-1).view(np.uint8), tag):
                self._keep(request, dst)
                tag += 1

    def send_pieces(self, dst: int, raw: Any, tag: int) -> Iterable[Any]:
        """Have MPI send an array of bytes, in messages with the tags from this one on: their requests."""
        if 0 < raw.nbytes <= CHUNK:
            return (self._comm.Isend([raw, self._byte], dst, self._first_tag + tag % self._tags),)
        return self._in_pieces(self._comm.Isend, dst, raw, tag)

    def receive_pieces(self, src: int, raw: Any, tag: int) -> Iterable[Any]:
        """The counterpart of `send_pieces`."""
        if 0 < raw.nbytes <= CHUNK:
            return (self._comm.Irecv([raw, self._byte], src, self._first_tag + tag % self._tags),)
        return self._in_pieces(self._comm.Irecv, src, raw, tag)

    def _in_pieces(self, start: Callable[..., Any], peer: int, raw: Any, tag: int) -> Iterator[Any]:
        """One at a time, so that whoever keeps the requests has those before one that fails."""
        for nth in range(tags_of(raw.nbytes)):
            part = raw[nth * CHUNK : (nth + 1) * CHUNK]
            yield start([part, self._byte], peer, self._first_tag + (tag + nth) % self._tags)

    def test_all(self, requests: list[Any]) -> bool:
        """Whether all of MPI's requests are over."""
        return bool(self._mpi.Request.Testall(requests))

    def _channel(self, peer: int, tag: int) -> Channel:
        return Channel(self._mpi, self._comm, peer, self._first_tag + tag % self._tags)

    def poll(self, tries: int) -> bytearray | None:
        if self._ready:
            return self._ready.popleft()
        if self._sends:
            self._recycle()
            if self._offers.out:
                tries = 1
        if self._coming:
            self._complete_bulk()
            tries = 1
        direct = self._direct
        frame = self._take(tries) if direct is None else direct.take(tries)
        if frame is None:
            return self._ready.popleft() if self._ready else None
        self.bytes_received += len(frame)
        if not frame:
            logger.error("a message without a header was dropped")
            return None
        if transfers_of(frame):
            self._fetch(frame)
            self._complete_bulk()
            return self._ready.popleft() if self._ready else None
        return frame

    def _take(self, tries: int) -> bytearray | None:
        """The next frame of the ring, which is looked for so many times; empty if it has no header."""
        at = self._at
        request = self._ring[at]
        while not request.Test():
            tries -= 1
            if tries <= 0:
                return None
        buffer = self._buffers[at]
        length = _length_at(buffer, LENGTH_OFFSET)[0]
        frame = buffer[: length if HEADER_SIZE <= length <= FRAME_MAX or not length else HEADER_SIZE]
        buffer[:HEADER_SIZE] = _NO_HEADER  # a message that is too short must not be taken for this one
        request.Start()
        self._at = at + 1 if at + 1 < RING else 0
        return frame

    def _fetch(self, frame: bytearray) -> None:
        """Post the receives of the arrays that follow a frame; or take its error in, for whoever sent it."""
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
        bulk.followed = [receive_array(size) for size in sizes]
        requests: list[Any] = []
        for nth, array in enumerate(bulk.followed):
            self.bytes_received += sizes[nth]
            if nth in offers:
                requests.append(OfferReceive(self, bulk, sender, offers[nth], array, src, tag))
            else:
                requests.extend(self.receive_pieces(src, array, tag))
            tag += tags_of(sizes[nth])
        self._expect([RequestGroup(requests)] if offers and len(requests) > 1 else requests, bulk)

    def _receive_on_devices(self, frame: bytearray, sizes: list[int], src: int, tag: int) -> None:
        entry = fetch_with_devices(frame, sizes, self.device_receiver, lambda nth: self._channel(src, tag + nth))
        self.bytes_received += sum(array.nbytes for array in entry[1].followed)
        self._expect(*entry)

    def _expect(self, requests: list[Any], bulk: FrameWithArrays) -> None:
        self._coming.append((requests, bulk, time.monotonic() + COMING_SECONDS))

    def _complete_bulk(self) -> None:
        still = []
        for entry in self._coming:
            requests, bulk, _ = entry
            if requests[0].Test() if len(requests) == 1 else self._mpi.Request.Testall(requests):
                self._ready.append(bulk)
            else:
                still.append(entry)
        self._coming = still
        self._looks += 1
        if still and (not self._looks & 1023 or len(still) > COMING_MAX):
            self._expire(time.monotonic())

    def _expire(self, now: float) -> None:
        """Give up what was announced long ago and has not begun to come: its sender, or the frame, is broken."""
        spare = len(self._coming) - COMING_MAX
        for nth, (requests, bulk, limit) in enumerate(self._coming):
            if (limit <= now or nth < spare) and all(isinstance(each, self._mpi.Request) for each in requests):
                self._coming[nth] = ([RequestGroup([_Cancelled(self._mpi, each, bulk) for each in requests])], bulk, _NEVER)

    def _recycle(self) -> None:
        sends = self._sends
        for _ in range(min(len(sends), 8)):
            request, dst = sends[0]
            try:
                over = request.Test()
            except Exception as error:
                logger.error("a message to rank %s may not have arrived: %s", dst, error)
                _abandoned.append(request)
                over = True
            if over:
                sends.popleft()
                self._ended(dst)
            else:
                sends.rotate(-1)

    def _ended(self, dst: int) -> None:
        """A send is over: its place is free for what waits. Sends that are over at once leave theirs to the next."""
        left = self._under_way[dst] - 1
        if left:
            self._under_way[dst] = left
        else:
            del self._under_way[dst]
        queue = self._queued.get(dst)
        while queue and self._under_way.get(dst, 0) < WINDOW:
            item = queue.popleft()
            try:
                self._send(dst, *item)
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
                "init_rpc was interrupted when it had told the other ranks who this one is: call it with the same arguments again"
            )
        wait_for(request, deadline, "the other ranks to call init_rpc")
        self._gathered += 1
        parts = [everybody[i : i + _GATHER_BYTES] for i in range(0, len(everybody), _GATHER_BYTES)]
        return [bytes(part[4 : 4 + int.from_bytes(part[:4], "little")]) for part in parts]

    def gather_again(self) -> None:
        """Begin with the first `allgather` again: those that an interrupted `init_rpc` has begun are not repeated."""
        self._gathered = 0

    def close(self, clean: bool) -> None:
        self._close_ring()
        if not clean:
            self._send_last_words()
        self._finish_sends(CLOSE_SECONDS if clean else LEAVE_SECONDS)
        _abandoned.extend(request for request, _ in self._sends)
        _abandoned.extend(self._coming)

    def _close_ring(self) -> None:
        ring, self._ring, self._direct = self._ring, [], None
        buffers, self._buffers = self._buffers, []  # 1 MiB that need not wait for the garbage collector
        for request in ring:
            request.Cancel()
        limit = time.monotonic() + CLOSE_SECONDS
        for request, buffer in zip(ring, buffers):
            while not (over := request.Test()) and time.monotonic() < limit:
                pass
            if over:
                request.Free()
            else:
                _abandoned.append((request, buffer))  # its sender began, and left

    def _send_last_words(self) -> None:
        """Drop what waits for a place, but for the word that this rank leaves: it fails the calls whose answers are dropped."""
        queued, self._queued = self._queued, {}
        for dst, queue in queued.items():
            for frame, follow, tag in queue:
                if kind_of(frame) == _LEAVE:
                    self._send(dst, frame, follow, tag)

    def _finish_sends(self, patience: float) -> None:
        """Help sends along, while any of them has ended within the last `patience` seconds."""
        began = time.monotonic()
        limit, left = began + patience, len(self._sends)
        while self._sends and time.monotonic() < min(limit, began + CLOSE_SECONDS):
            self._recycle()
            if len(self._sends) < left:
                left, limit = len(self._sends), time.monotonic() + patience


class _Cancelled:
    """A receive that is given up, unless it has begun: then MPI lets it end. If nothing came, its message fails."""

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


def wait_for(request: Any, deadline: float, what: str) -> None:
    """Wait for a request without blocking inside MPI; TimeoutError after the deadline."""
    nap = 20e-6
    while True:
        with mpi_turn():
            if request.Test():
                return
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {what}")
        time.sleep(nap)
        guard.deliver()
        nap = min(nap * 1.5, 1e-3)
