"""Staged transfers: device memory <-> pinned buffers <-> MPI, with the pieces of one array overlapping.

While MPI sends one piece, the GPU copies the next. Both classes are requests like MPI's: `Test()` makes progress without
blocking and returns whether all is complete. The thread that holds the transport's lock calls it.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from mpigrad._array.device import cupy, device, on_device, pointer
from mpigrad.distributed._gpu.pinned import FOR_RECEIVES, FOR_SENDS
from mpigrad.distributed._gpu.transfers import PIECE_BITS, pieces

DEPTH = 3  # pieces of one transfer that hold a pinned buffer at a time
_copy_streams: dict[int, Any] = {}


def copy_stream(place: device) -> Any:
    """Return the stream for copies from the GPU `place`: not the current one, so that copies do not wait for kernels."""
    index = place.index or 0
    if index not in _copy_streams:
        with on_device(place):
            _copy_streams[index] = cupy().cuda.Stream(non_blocking=True)
    return _copy_streams[index]


class StagedSend:
    """The send of one transfer from a GPU: copied to pinned buffers piece by piece, and sent from there."""

    def __init__(self, channel: Any, outgoing: Any) -> None:
        self._channel, self._outgoing = channel, outgoing
        self._left = deque(pieces(outgoing.nbytes, 1 << PIECE_BITS))
        self._copying: deque[tuple[Any, Any, int]] = deque()
        self._sending: deque[tuple[Any, Any]] = deque()
        with on_device(outgoing.source):
            copy_stream(outgoing.source).wait_event(outgoing.ready)

    def Test(self) -> bool:
        """Copy and send further pieces; True when the last piece has been sent."""
        self._copy()
        self._send()
        while self._sending and self._sending[0][0].Test():
            FOR_SENDS.release(self._sending.popleft()[1])
        return not (self._left or self._copying or self._sending)

    def _copy(self) -> None:
        while self._left and len(self._copying) + len(self._sending) < DEPTH:
            start, end = self._left[0]
            buffer = FOR_SENDS.acquire(end - start)
            if buffer is None:  # all pinned buffers are in use: back-pressure, the next `Test` tries again
                return
            self._left.popleft()
            place = self._outgoing.source
            stream = copy_stream(place)
            with on_device(place):
                self._outgoing.copy_into(pointer(buffer), start, end, stream)
                self._copying.append((stream.record(), buffer, end - start))

    def _send(self) -> None:
        while self._copying and self._copying[0][0].done:
            _, buffer, length = self._copying.popleft()
            self._sending.append((self._channel.send(buffer[:length]), buffer))


class StagedReceive:
    """The receive of one transfer to a GPU, through pinned buffers; the copies run on the stream that will use the array.

    `array` is the receive buffer on the device `place`, `length` the size of the pieces in bytes.
    """

    def __init__(self, channel: Any, array: Any, place: device, stream: Any, length: int) -> None:
        self._channel, self._array, self._place, self._stream = channel, array, place, stream
        self._left = deque(pieces(array.nbytes, length))
        self._matched: Any = None
        self._receiving: deque[tuple[Any, Any, int, int]] = deque()

    def Test(self) -> bool:
        """Receive and copy further pieces; True when the last copy has been enqueued on the stream."""
        while self._receiving and self._receiving[0][0].Test():
            self._land(*self._receiving.popleft()[1:])
        while self._left and len(self._receiving) < DEPTH and self._receive():
            pass
        return not (self._left or self._receiving)

    def _receive(self) -> bool:
        """Start to receive the next piece; False if it has not arrived or no pinned buffer is free.

        A matched probe comes first: a posted receive would hold a pinned buffer until its message arrives.
        """
        if self._matched is None:
            self._matched = self._channel.probe()
        if self._matched is None:
            return False
        start, end = self._left[0]
        buffer = FOR_RECEIVES.acquire(end - start)
        if buffer is None:
            return False
        self._left.popleft()
        request = self._channel.receive_matched(self._matched, buffer[: end - start])
        self._receiving.append((request, buffer, start, end))
        self._matched = None
        return True

    def _land(self, buffer: Any, start: int, end: int) -> None:
        runtime = cupy().cuda.runtime
        with on_device(self._place):
            target = pointer(self._array) + start
            runtime.memcpyAsync(target, pointer(buffer), end - start, runtime.memcpyHostToDevice, self._stream.ptr)
            FOR_RECEIVES.release_after(self._stream.record(), buffer)
