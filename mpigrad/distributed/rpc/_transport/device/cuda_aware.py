"""CUDA-aware transfers: MPI reads and writes device memory itself.

MPI knows nothing of streams. So a send starts when the GPU has passed the event recorded behind the array's last change,
and a receive when it has passed everything that used the receiving memory before. What MPI has written is there for
every stream.
"""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import on_device, pointer
from mpigrad.distributed._gpu.transfers import PIECE_BITS, pieces


class AwareSend:
    """One large array that MPI reads from a GPU."""

    def __init__(self, channel: Any, outgoing: Any) -> None:
        self._channel, self._outgoing = channel, outgoing
        self._requests: list[Any] | None = None

    def Test(self) -> bool:
        """Go on; True when all pieces have left."""
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
    """One large array that MPI writes to a GPU."""

    def __init__(self, channel: Any, array: Any, place: Any, stream: Any, length: int) -> None:
        self._channel, self._array, self._length = channel, array, length
        self._requests: list[Any] | None = None
        with on_device(place):
            self._clear = stream.record()

    def Test(self) -> bool:
        """Go on; True when all pieces are there."""
        if self._requests is None:
            if not self._clear.done:
                return False
            start = pointer(self._array)
            self._requests = [
                self._channel.receive_memory(start + begin, end - begin)
                for begin, end in pieces(self._array.nbytes, self._length)
            ]
        return self._channel.test_all(self._requests)
