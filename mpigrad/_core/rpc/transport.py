"""The transport interface: sends frames and the arrays that follow them from rank to rank.

An agent calls `send` and `poll` from one thread at a time (under `lock`); implementations take no lock themselves.

Contract
- Frames between two ranks arrive once and complete, and in order unless arrays follow them.
- `send` never blocks and keeps frame and arrays alive as long as needed. It raises if they cannot be sent; later failures are
  reported to the listener of `report_failures_to`.
- `poll` makes progress with sends and receives, and returns one complete message or None. Arrays are received directly into
  memory of `receive_pool`, and become the attribute `followed` of the message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol, cast

from mpigrad.distributed.rpc._protocol.message import HEADER_SIZE, TRANSFER
from mpigrad.distributed.rpc._transport.device.channel import Channel, RequestGroup
from mpigrad.distributed.rpc._transport.device.send import Outgoing
from mpigrad.distributed.rpc._transport.device.transfers import read_entry
from mpigrad.distributed.rpc._transport.receive_pool import receive_array

from .frames import read_header, transfers_of

logger = logging.getLogger(__name__)

FRAME_MAX = 64 * 1024
CHUNK = 1 << 30  # bytes of one MPI message
LARGEST = 1 << 46  # a longer array can only be a malformed frame


def tags_of(nbytes: int) -> int:
    """The number of MPI messages, and so of tags, for an array on the host."""
    return -(-nbytes // CHUNK)


class FrameWithArrays(bytearray):
    """A frame together with the arrays that followed it, or the error of receiving them."""

    followed: Any
    streams: Any = None  # the streams of its device arrays, if it has any


class SendFailures(Protocol):
    """The listener for frames that a transport accepted but could not send."""

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Called for a frame that will not arrive."""


class Transport:
    """Point-to-point messages between `size` ranks, of which this is `rank`."""

    rank, size = 0, 1
    oversubscribed = False
    reports_losses = False  # whether the loss of a rank is reported, as a LOST frame
    bytes_sent = bytes_received = 0
    lock = cast(Any, None)  # the lock for calls, if the transport requires a specific one
    device_receiver = cast(Any, None)  # receives device arrays, in worlds that use GPUs
    make_progress = cast(Any, None)  # creates the agent's progress, if it is not the usual one (simulations)

    epochs = cast(Any, None)  # the agent's, of workers by rank: for transports that report losses

    _listener = cast("SendFailures | None", None)

    def report_failures_to(self, listener: SendFailures) -> None:
        """Set the listener for frames that fail after `send` has accepted them."""
        self._listener = listener

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Report that an accepted frame could not be sent."""
        if self._listener is not None:
            self._listener.send_failed(dst, frame, error)
        else:
            logger.error("could not send a message to rank %s: %s", dst, error)

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Start sending a frame and the arrays that follow it, whose transfers use tags from `tag` on."""
        raise NotImplementedError

    def poll(self, tries: int) -> bytearray | None:
        """Test up to `tries` times for a message; returns it, or None."""
        raise NotImplementedError

    def pending(self) -> bool:
        """Whether large transfers are in flight, which sleeping would slow down."""
        raise NotImplementedError

    def unsent(self) -> int:
        """The number of sends that are not complete."""
        raise NotImplementedError

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        """The `data` of all ranks (at most 256 bytes each), in the order of ranks; TimeoutError after the deadline."""
        raise NotImplementedError

    def abandon(self, rank: int, ended: bool) -> None:
        """End everything that is under way with a lost rank, and send it nothing from now on. `ended`: its process has ended."""

    def world_rank(self, rank: int) -> int:
        """The rank in the whole job of the process that is `rank` in this transport's communicator."""
        return rank

    def close(self, clean: bool) -> None:
        """Stop receiving. `clean`: all ranks have agreed that no message is in flight. Otherwise answers may be lost, but the
        LEAVE messages are sent, which fail the calls that wait for these answers.
        """
        raise NotImplementedError


def transfer_sizes(frame: Any) -> list[int]:
    """The sizes of the arrays that follow a frame; ValueError if the frame is malformed."""
    count, length = transfers_of(frame), len(frame)
    start = length - TRANSFER.size * count
    if start < HEADER_SIZE:
        raise ValueError(f"malformed message: {count} transfers announced in a frame of {length} bytes")
    sizes = [size for (size,) in TRANSFER.iter_unpack(frame[start:])]
    if max(sizes, default=0) > LARGEST:
        for size in sizes:
            if size > LARGEST:
                read_entry(size)
    return sizes


def transfer_table(follow: list[Any]) -> bytes:
    """The table of the transfers that follow a frame: sizes, and entries of device transfers, which are larger than any size."""
    return b"".join([TRANSFER.pack(each.entry if type(each) is Outgoing else each.nbytes) for each in follow])


def failed(frame: bytearray, error: Exception) -> FrameWithArrays:
    """A message whose arrays cannot be received; decoding it raises the error."""
    bulk = FrameWithArrays(frame)
    bulk.followed = error
    return bulk


def _nowhere() -> Any:
    """The receiver of an agent without devices, which receives on the host; imported when the first device array comes."""
    from mpigrad.distributed.rpc._transport.device.receive import NOWHERE

    return NOWHERE


def fetch_with_devices(
    frame: bytearray, sizes: list[int], device_receiver: Any, channel: Callable[[int], Channel]
) -> tuple[list[Any], FrameWithArrays]:
    """Start to receive the transfers of a frame with device arrays, as one request. `channel(n)` uses tag n."""
    bulk, requests, tag = FrameWithArrays(frame), [], 0
    bulk.followed = []
    if device_receiver is None:
        device_receiver = _nowhere()
    for size in sizes:
        if size > LARGEST:
            array, request = device_receiver.receive(bulk, size, channel(tag))
            requests.append(request)
            tag += 1
        else:
            array = receive_array(size)
            for start in range(0, size, CHUNK):
                requests.append(channel(tag).receive(array[start : start + CHUNK]))
                tag += 1
        bulk.followed.append(array)
    return [RequestGroup(requests)], bulk


def copied(frame: bytes, follow: list[Any], device_receiver: Any = None) -> bytearray:
    """A copy of a message as its receiver would get it, for messages within the process."""
    if not follow:
        return bytearray(frame)
    bulk = FrameWithArrays(frame)
    bulk.followed = []
    for array in follow:
        if type(array) is Outgoing:
            bulk.followed.append((device_receiver or _nowhere()).receive_here(bulk, array))
            continue
        block = receive_array(array.nbytes)
        block[:] = array.reshape(-1).view("u1")
        bulk.followed.append(block)
    return bulk


def origin_of(frame: Any) -> tuple[int, int]:
    """The sender's rank, and the first tag of the transfers."""
    header = read_header(frame)
    return header.src, header.tag
