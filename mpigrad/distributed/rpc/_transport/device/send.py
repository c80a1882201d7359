"""Sending arrays from or to GPUs: groups the arrays of a message into transfers, and starts their sends."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import CPU, cupy, current_stream, device, device_of, on_device, pointer
from mpigrad.distributed._gpu.transfers import PACKED_MAX, PIECE_BITS, pieces

from .channel import Channel
from .transfers import aligned, entry


class Outgoing:
    """One transfer from one device of this worker to one device of another: a large array, or a pack of small ones."""

    __slots__ = ("arrays", "direct", "nbytes", "offsets", "ready", "source", "target")

    def __init__(self, source: device, target: device) -> None:
        self.source, self.target = source, target
        self.arrays: list[Any] = []
        self.offsets: list[int] = []
        self.nbytes = 0
        self.ready: Any = None  # the CUDA event after the last write to the arrays; None for arrays on the host
        self.direct = False  # a large array, which a CUDA-aware MPI may read itself

    def add(self, array: Any) -> int:
        """Add a contiguous array; returns its offset in the transfer, in bytes."""
        offset = aligned(self.nbytes)
        self.arrays.append(array)
        self.offsets.append(offset)
        self.nbytes = offset + array.nbytes
        return offset

    @property
    def entry(self) -> int:
        """The number that describes this transfer in the frame's table: see `transfers.entry`."""
        return entry(self.nbytes, self.target)

    def copy_into(self, address: int, start: int, end: int, stream: Any) -> None:
        """Enqueue copies of the bytes from `start` to `end` of the transfer to `address`.

        `stream` belongs to the device of the arrays, which must be the current one.
        """
        runtime = cupy().cuda.runtime
        for array, offset in zip(self.arrays, self.offsets):
            first, last = max(start, offset), min(end, offset + array.nbytes)
            if first < last:
                origin = pointer(array) + first - offset
                runtime.memcpyAsync(address + first - start, origin, last - first, runtime.memcpyDefault, stream.ptr)

    def host_bytes(self) -> np.ndarray:
        """Return the bytes of a transfer whose arrays are on the host, without a copy if there is one array."""
        if len(self.arrays) == 1:
            return self.arrays[0].reshape(-1).view(np.uint8)
        made = np.zeros(self.nbytes, np.uint8)
        for array, offset in zip(self.arrays, self.offsets):
            made[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)
        return made

    def start(self, channel: Channel, cuda_aware: bool) -> Any:
        """Start the send and return a request (an object with `Test`). `cuda_aware`: MPI can read GPU memory."""
        if self.source is CPU:
            return HostSend(channel, self.host_bytes())
        if cuda_aware and self.direct:
            from .cuda_aware import AwareSend

            return AwareSend(channel, self)
        from .staging import StagedSend

        return StagedSend(channel, self)


class HostSend:
    """The send of one transfer from host memory (`raw`, bytes), in the pieces that the receiver expects."""

    def __init__(self, channel: Channel, raw: np.ndarray) -> None:
        self._channel = channel
        self._requests = [channel.send(raw[start:end]) for start, end in pieces(raw.nbytes, 1 << PIECE_BITS)]

    def Test(self) -> bool:
        """Whether all pieces have been sent."""
        return self._channel.test_all(self._requests)


class DevicePacker:
    """Groups the arrays of one message into transfers while the message is encoded: large ones alone, small ones together."""

    MOST = 256  # separate transfers per message; further large arrays are packed, as each transfer uses an MPI tag

    def __init__(self) -> None:
        self.transfers: list[Outgoing] = []
        self._packs: dict[tuple[device, device], int] = {}

    def add(self, array: Any, target: device) -> tuple[int, int]:
        """Add an array that goes to the device `target`; returns the index of its transfer, and its offset there in bytes."""
        source = device_of(array)
        array = _contiguous(array, source)
        if array.nbytes > PACKED_MAX and len(self.transfers) < self.MOST:
            number = self._new(source, target)
            self.transfers[number].direct = True
        else:
            number = self._packs.get((source, target), -1)
            if number < 0:
                number = self._packs[source, target] = self._new(source, target)
        return number, self.transfers[number].add(array)

    def _new(self, source: device, target: device) -> int:
        self.transfers.append(Outgoing(source, target))
        return len(self.transfers) - 1

    def seal(self) -> list[Outgoing]:
        """Return the transfers of the message. No array may be added afterwards.

        Each gets an event, so that it starts when the work that is now on the current streams is complete.
        """
        events: dict[device, Any] = {}
        for each in self.transfers:
            if each.source is not CPU:
                if each.source not in events:
                    with on_device(each.source):
                        events[each.source] = current_stream(each.source).record()
                each.ready = events[each.source]
        return self.transfers


def _contiguous(array: Any, source: device) -> Any:
    if source is CPU:
        array = np.ascontiguousarray(array).reshape(array.shape)
        return array.astype(array.dtype.newbyteorder("="), copy=False)  # arrays on GPUs have the native byte order
    with on_device(source):
        return cupy().ascontiguousarray(array).reshape(array.shape)
