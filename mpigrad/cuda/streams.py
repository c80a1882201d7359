"""CUDA streams (work queues of a GPU) and events (marks in them)."""

from __future__ import annotations

import functools
from typing import Any

from .._array import device as seam
from ._devices import Which, index_of


class Event:
    """A mark in a stream: other streams can wait for it, and the time between two marks can be measured.

    `enable_timing`: needed for `elapsed_time`. `blocking`: threads that wait sleep instead of polling. `interprocess` and
    `external` must be False.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        if interprocess or external:
            raise NotImplementedError("mpigrad.cuda.Event: interprocess and external events are not supported")
        seam.cupy()
        self._options = {"block": blocking, "disable_timing": not enable_timing}
        self._event: Any = None  # created on the device of the stream that records it first
        self._place: seam.device | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Record the event after all work that is now in a stream (None: the current one)."""
        stream = current_stream() if stream is None else stream
        with seam.on_device(stream.device):
            if self._event is None:
                self._event, self._place = seam.cupy().cuda.Event(**self._options), stream.device
            elif self._place != stream.device:
                raise RuntimeError(
                    f"Event device {self._place} does not match recording stream's device {stream.device}."
                )
            self._event.record(stream._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Make future work of a stream (None: the current one) wait for this event."""
        if self._event is not None:
            stream = current_stream() if stream is None else stream
            with seam.on_device(stream.device):
                stream._stream.wait_event(self._event)

    def query(self) -> bool:
        """Whether all work before the event is complete."""
        return self._event is None or bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until all work before the event is complete."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this event and `end_event`; both need `enable_timing=True`."""
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self._options["disable_timing"] or end_event._options["disable_timing"]:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        return seam.cupy().cuda.get_elapsed_time(self._event, end_event._event)

    def __repr__(self) -> str:
        return "<mpigrad.cuda.Event uninitialized>" if self._event is None else f"<mpigrad.cuda.Event {self._event.ptr:#x}>"


class Stream:
    """A work queue of a GPU, independent of other streams. Streams with lower `priority` numbers run first.

    `device`: the GPU, by default the current one.
    """

    _stream: Any  # CuPy's stream
    _place: seam.device

    def __init__(self, device: Which = None, priority: int = 0) -> None:
        self._place = seam.device("cuda", index_of(device))
        with seam.on_device(self._place):
            self._stream = seam.cupy().cuda.Stream(non_blocking=True, priority=priority)

    @classmethod
    def _around(cls, stream: Any, place: seam.device) -> Stream:
        made = object.__new__(Stream)
        made._stream, made._place = stream, place
        return made

    @property
    def device(self) -> seam.device:
        """The GPU of this stream."""
        return self._place

    @property
    def device_index(self) -> int:
        """The index of the GPU of this stream."""
        return self._place.index  # type: ignore[return-value]

    @property
    def cuda_stream(self) -> int:
        """The stream's handle for CUDA functions."""
        return self._stream.ptr

    @property
    def priority(self) -> int:
        """The priority given at construction; 0 is the default."""
        return self._stream.priority

    def wait_event(self, event: Event) -> None:
        """Make future work of this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make future work of this stream wait for all work that is now in `stream`."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event after all work that is now in this stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work in this stream is complete."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait until all work in this stream is complete."""
        self._stream.synchronize()

    def __enter__(self) -> Stream:
        self._contexts = (*getattr(self, "_contexts", ()), StreamContext(self))
        self._contexts[-1].__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        *rest, last = self._contexts
        self._contexts = tuple(rest)
        last.__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self._place) == (other.cuda_stream, other._place)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self._place))

    def __repr__(self) -> str:
        return f"<mpigrad.cuda.Stream device={self._place} cuda_stream={self.cuda_stream:#x}>"


class _Foreign:
    """Holds the address of a stream, in the protocol with which CUDA libraries for Python exchange streams."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._address


class ExternalStream(Stream):
    """A stream of the GPU `device` that other code created and will destroy, given by its address `stream_ptr`."""

    def __init__(self, stream_ptr: int, device: Which = None) -> None:
        self._place = seam.device("cuda", index_of(device))
        with seam.on_device(self._place):
            self._stream = seam.cupy().cuda.Stream.from_external(_Foreign(stream_ptr))


def get_stream_from_external(data_ptr: int, device: Which = None) -> Stream:
    """A stream of the GPU `device` that other code created and will destroy, given by its address `data_ptr`."""
    return ExternalStream(data_ptr, device)


class StreamContext:
    """The context manager of `stream(s)`: `s` and its GPU are the current ones inside; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, Stream] | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        runtime = seam.cupy().cuda.runtime
        self._before = runtime.getDevice(), current_stream(self.stream.device)
        with seam.on_device(self.stream.device):  # as CuPy's `with` does, so that a nested one returns to this stream
            self.stream._stream.__enter__()
        runtime.setDevice(self.stream.device_index)

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            device, stream = self._before
            with seam.on_device(stream.device):
                self.stream._stream.__exit__()  # type: ignore[union-attr]
            set_stream(stream)
            seam.cupy().cuda.runtime.setDevice(device)


def stream(stream: Stream | None) -> StreamContext:
    """A context manager in which `stream` is the current one; None changes nothing."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Make `stream` this thread's current one on its GPU. Prefer `with stream(s)`."""
    if stream is not None:
        with seam.on_device(stream.device):
            stream._stream.use()


_SPIN = """extern "C" __global__ void mpigrad_spin(long long cycles) {
    for (long long end = clock64() + cycles; clock64() < end;) {}
}"""


@functools.cache
def _spin(xp: Any) -> Any:
    return xp.RawKernel(_SPIN, "mpigrad_spin")


def _sleep(cycles: int) -> None:
    """Keep the current stream busy for a number of GPU clock cycles, with a kernel that spins; for tests of streams."""
    xp = seam.cupy()
    _spin(xp)((1,), (1,), (xp.int64(cycles),))


def current_stream(device: Which = None) -> Stream:
    """The stream on which this thread's work on a GPU (default: the current one) runs now."""
    place = seam.device("cuda", index_of(device))
    return Stream._around(seam.current_stream(place), place)


def default_stream(device: Which = None) -> Stream:
    """The stream on which work on a GPU (default: the current one) runs unless another one was set."""
    place = seam.device("cuda", index_of(device))
    return Stream._around(seam.cupy().cuda.Stream.null, place)


__all__ = [
    "Event", "ExternalStream", "Stream", "StreamContext", "current_stream", "default_stream", "get_stream_from_external",
    "set_stream", "stream",
]  # fmt: skip
