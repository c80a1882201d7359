"""CUDA-aware transfers: MPI reads and writes device memory itself.

MPI does not know CUDA streams. So a send starts when the GPU has passed the event that was recorded after the last write to the
array, and a receive when all earlier work on the receive buffer is complete. A completed receive is visible to all streams.
Both classes are requests like MPI's: `Test()` never blocks.
"""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import on_device, pointer
from mpigrad.distributed._gpu.transfers import PIECE_BITS, pieces


class AwareSend:
    """The send of one large array (an `Outgoing` with one array), which MPI reads from the GPU."""

    def __init__(self, channel: Any, outgoing: Any) -> None:
        self._channel, self._outgoing = channel, outgoing
        self._requests: list[Any] | None = None

    def Test(self) -> bool:
        """Start the send when the array is complete, then test it; True when all pieces have been sent."""
        if self._requests is None:
            if not self._outgoing.ready.done:
                return False
            start = pointer(self._outgoing.arrays[0])
            self._requests = [
                self._channel.send_memory(start + begin, end - begin)
                for begin, end in pieces(self._outgoing.nbytes, 1 << PIECE_BITS)
            ]
        return self._channel.test_all(self._requests)


class AwareReceive:
    """The receive of one large array, which MPI writes to a GPU.

    `array` is the receive buffer on the device `place`, `stream` the stream on which it was allocated, `length` the size
    of the pieces in bytes.
    """

    def __init__(self, channel: Any, array: Any, place: Any, stream: Any, length: int) -> None:
        self._channel, self._array, self._length = channel, array, length
        self._requests: list[Any] | None = None
        with on_device(place):
            self._clear = stream.record()

    def Test(self) -> bool:
        """Start the receive when the buffer is free, then test it; True when all pieces have been received."""
        if self._requests is None:
            if not self._clear.done:
                return False
            start = pointer(self._array)
            self._requests = [
                self._channel.receive_memory(start + begin, end - begin)
                for begin, end in pieces(self._array.nbytes, self._length)
            ]
        return self._channel.test_all(self._requests)
