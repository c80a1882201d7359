"""Receiving device arrays: allocates buffers on the GPU, on the streams of the consumer, and starts the transfers into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._array.device import CPU, cupy, device, keep_until_done, on_device, pointer
from mpigrad.distributed._gpu.streams import Streams, enter, leave
from mpigrad.distributed._gpu.transfers import PACKED_MAX, pieces
from mpigrad.distributed.rpc._transport.receive_pool import receive_array

from .channel import Channel
from .cuda_aware import AwareReceive
from .failed_receive import failed_receive
from .send import Outgoing
from .staging import StagedReceive
from .transfers import read_entry


class DeviceReceiver:
    """Receives the device arrays of an agent's messages.

    Args:
        devices: the GPUs that this worker uses.
        streams_for: called with a frame; returns the streams on which its arrays will be used.
        cuda_aware: whether MPI may write large arrays to the GPU itself.
    """

    def __init__(self, devices: list[device], streams_for: Callable[[Any], Streams], cuda_aware: bool) -> None:
        self.devices, self.streams_for, self.cuda_aware = frozenset(devices), streams_for, cuda_aware

    def streams(self, bulk: Any) -> Streams:
        """Return the streams on which the arrays of a message will be used; `bulk` is the message, a `FrameWithArrays`."""
        if bulk.streams is None:
            bulk.streams = self.streams_for(bulk)
        return bulk.streams

    def memory(self, bulk: Any, nbytes: int, target: device) -> Any:
        """Return a buffer of `nbytes` for one transfer to the device `target`.

        It is on the host if this worker does not use that GPU or the GPU has no memory left: decoding then raises an
        error, which the sender of the message gets as its answer.
        """
        if target not in self.devices:
            return receive_array(nbytes)
        stream = self.streams(bulk).of(target)
        with on_device(target):
            before = enter(stream)
            try:
                return cupy().empty(nbytes, "u1")
            except Exception as error:
                return failed_receive(receive_array(nbytes), error)
            finally:
                leave(stream, before)

    def receive(self, bulk: Any, number: int, channel: Channel) -> tuple[Any, Any]:
        """Start to receive a transfer; returns its buffer and a request (an object with `Test`).

        `number` is the entry of the transfer in the frame's table (see `transfers.entry`), `channel` its MPI calls.
        """
        nbytes, target, length = read_entry(number)
        array = self.memory(bulk, nbytes, target)
        if isinstance(array, np.ndarray):
            return array, HostReceive(channel, array, length)
        stream = bulk.streams.of(target)
        kind = AwareReceive if self.cuda_aware and nbytes > PACKED_MAX else StagedReceive
        return array, kind(channel, array, target, stream, length)

    def receive_here(self, bulk: Any, outgoing: Outgoing) -> Any:
        """Copy a transfer whose sender is in the same process; returns the buffer."""
        array = self.memory(bulk, outgoing.nbytes, outgoing.target)
        if isinstance(array, np.ndarray):
            _copy_to_host(outgoing, array)
            return array
        stream = bulk.streams.of(outgoing.target)
        with on_device(outgoing.target):
            if outgoing.ready is not None:
                stream.wait_event(outgoing.ready)
            outgoing.copy_into(pointer(array), 0, outgoing.nbytes, stream)
            keep_until_done(stream, *outgoing.arrays)
        return array


NOWHERE = DeviceReceiver([], lambda frame: Streams({}), False)  # of agents without devices; receives on the host


def _copy_to_host(outgoing: Outgoing, array: Any) -> None:
    if outgoing.source is CPU:
        array[:] = outgoing.host_bytes()
        return
    with on_device(outgoing.source):
        stream = cupy().cuda.get_current_stream()
        stream.wait_event(outgoing.ready)
        outgoing.copy_into(pointer(array), 0, outgoing.nbytes, stream)
        stream.synchronize()


class HostReceive:
    """The receive of one transfer into host memory, in the pieces in which it is sent."""

    def __init__(self, channel: Channel, array: Any, length: int) -> None:
        self._channel = channel
        self._requests = [channel.receive(array[start:end]) for start, end in pieces(array.nbytes, length)]

    def Test(self) -> bool:
        """Whether all pieces have been received."""
        return self._channel.test_all(self._requests)
