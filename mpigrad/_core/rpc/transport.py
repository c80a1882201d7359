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
    """Return how many MPI messages, and so tags, an array of `nbytes` bytes on the host takes."""
    return -(-nbytes // CHUNK)


class FrameWithArrays(bytearray):
    """A received frame (its bytes) together with the arrays that followed it.

    `followed` is the list of these arrays, or the exception that receiving them has raised.
    """

    followed: Any
    streams: Any = None  # the streams of its device arrays, if it has any


class SendFailures(Protocol):
    """What is told of frames that a transport has accepted but could not send; progress implements it."""

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Called for a frame to the rank `dst` that will not arrive."""


class Transport:
    """Sends and receives messages between `size` ranks, of which this process is `rank`. Base class of the transports."""

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
        """Set what is told of frames that `send` accepted and that fail later."""
        self._listener = listener

    def send_failed(self, dst: int, frame: bytes, error: Exception) -> None:
        """Report that a frame which `send` accepted could not be sent to `dst`; logs it if there is no listener."""
        if self._listener is not None:
            self._listener.send_failed(dst, frame, error)
        else:
            logger.error("could not send a message to rank %s: %s", dst, error)

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        """Start to send a frame to the rank `dst`, and the arrays `follow`, whose transfers use tags from `tag` on. Never blocks.

        The arrays must not be changed until they are sent.
        """
        raise NotImplementedError

    def poll(self, tries: int) -> bytearray | None:
        """Make progress; test up to `tries` times for a message and return it, complete with its arrays, or None."""
        raise NotImplementedError

    def pending(self) -> bool:
        """Return whether large transfers are in flight: they progress only while this rank polls, so it should not sleep."""
        raise NotImplementedError

    def unsent(self) -> int:
        """Return the number of sends that are not complete, with those that are queued."""
        raise NotImplementedError

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        """Return the `data` (at most 256 bytes) of all ranks, in the order of ranks. A collective operation.

        TimeoutError after the deadline.
        """
        raise NotImplementedError

    def abandon(self, rank: int, ended: bool) -> None:
        """End all transfers with a lost rank, and send it nothing from now on. `ended`: its process has ended."""

    def look_for_losses(self) -> None:
        """Report lost ranks that the system knows of and no receive has reported, if `reports_losses`."""

    def world_rank(self, rank: int) -> int:
        """Return the rank in the whole job (COMM_WORLD) of the process that is `rank` here."""
        return rank

    def close(self, clean: bool) -> None:
        """Stop receiving. `clean`: all ranks have agreed that no message is in flight.

        Otherwise answers may be lost, but the LEAVE messages are sent, by which other ranks fail the calls that wait for
        these answers.
        """
        raise NotImplementedError


def transfer_sizes(frame: Any) -> list[int]:
    """Return the table at the end of a frame: the sizes of the arrays that follow it; ValueError if it is malformed."""
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
    """Encode the table of the transfers that follow a frame: sizes of host arrays, entries of device transfers.

    An entry of a device transfer is larger than any size, so the two can be told apart.
    """
    return b"".join([TRANSFER.pack(each.entry if type(each) is Outgoing else each.nbytes) for each in follow])


def failed(frame: bytearray, error: Exception) -> FrameWithArrays:
    """Return a message whose arrays could not be received; decoding it raises the error."""
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
    """Start to receive the transfers of a frame with device arrays; returns a list with one request, and the message.

    `sizes` is the table of the frame; `channel(n)` returns the MPI calls for the n-th tag of the message.
    """
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
    """Return a copy of a message as its receiver would get it, for messages within the process."""
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
    """Return the sender's rank of a frame, and the first tag of its transfers."""
    header = read_header(frame)
    return header.src, header.tag
