"""CUDA streams of calls: each request runs on separate streams, and its answer arrives on the caller's streams.

As in PyTorch's CUDA RPC, a request gets one stream per GPU from a small pool. Its arguments arrive on that stream, it is the
current stream while the function runs, and results are sent when its work is done. Answers arrive on the streams that were
current when the caller made the call.

Beyond PyTorch, requests are ordered with the default stream: a request waits for earlier work on the default stream, and the
default stream waits for each request that ends or sends a message. So values that requests leave behind (RRefs, parameters,
gradients) are complete for later requests and for programs that use only the default stream. "Later" is defined by messages:
the receiver of an answer may act before the sending thread continues, so `publish` runs before each send.
"""

from __future__ import annotations

import functools
import itertools
import threading
from typing import Any

from mpigrad._array.device import cupy, current_stream, device, on_device
from mpigrad._array.device_pool import order_memory

POOL = 8  # sets of streams for handlers
Marks = dict[int, tuple[Any, Any]]  # by GPU: an event, and the stream on which it was recorded


class _Ours(threading.local):
    """The streams on which a request or a backward pass runs in this thread; None if there is none."""

    streams: Streams | None = None


_ours = _Ours()


def publish() -> None:
    """Make the default streams wait for the work that this thread's request or backward pass has enqueued so far."""
    if _ours.streams is not None:
        for index, stream in _ours.streams.by_index.items():
            with on_device(device("cuda", index)):
                cupy().cuda.Stream.null.wait_event(stream.record())


def enter(stream: Any) -> Any:
    """Make a stream the current one of this thread, and its device the current one; returns the previous stream for `leave`."""
    before = cupy().cuda.get_current_stream()
    stream.__enter__()
    return before


def leave(stream: Any, before: Any) -> None:
    """Undo `enter`, with the stream that it returned as `before`.

    At the end of `with stream:` CuPy returns to the stream of the enclosing `with`, not to one that was set with `use()`.
    So `enter` enters the stream as `with` does, to which a user's `with` then returns; and the stream before it is
    restored here.
    """
    stream.__exit__()
    before.use()


class Streams:
    """One CUDA stream for each GPU that a worker uses, by index of the GPU."""

    __slots__ = ("by_index",)

    def __init__(self, by_index: dict[int, Any]) -> None:
        self.by_index = by_index

    @classmethod
    def new(cls, devices: list[device]) -> Streams:
        """Create a new stream on each of these GPUs."""
        made = {}
        for place in devices:
            with on_device(place):
                made[place.index or 0] = cupy().cuda.Stream(non_blocking=True)
        return cls(made)

    @classmethod
    def current(cls, devices: list[device]) -> Streams:
        """Return the current streams of this thread on these GPUs."""
        return cls({place.index or 0: current_stream(place) for place in devices})

    def of(self, place: device) -> Any:
        """Return the stream of a GPU; the default stream for a GPU that is not among them."""
        found = self.by_index.get(place.index or 0)
        return cupy().cuda.Stream.null if found is None else found

    def record(self) -> Marks:
        """Record an event on each stream; returns the pairs (event, stream) by index of the GPU."""
        made = {}
        for index, stream in self.by_index.items():
            with on_device(device("cuda", index)):
                made[index] = stream.record(), stream
        return made

    @staticmethod
    def wait_for(marks: Marks) -> None:
        """Make this thread's current streams wait for events of `record`. The thread itself does not wait."""
        for index, (event, stream) in marks.items():
            place = device("cuda", index)
            mine = current_stream(place)
            if mine.ptr != stream.ptr:
                with on_device(place):
                    mine.wait_event(event)

    def acting(self) -> Acting:
        """Return a context manager that makes these the current streams of this thread."""
        return Acting(self)

    def serving(self) -> Serving:
        """Return `acting` for a request: the streams are also ordered with the default streams, before and after."""
        return Serving(self)

    def working(self) -> Working:
        """Return `serving` for a backward pass: the streams are also ordered with the current streams of this thread."""
        return Working(self)


class Acting:
    """The context manager of `Streams.acting`."""

    __slots__ = ("_before", "_outer", "_streams")

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def __enter__(self) -> None:
        self._before = []
        self._outer, _ours.streams = _ours.streams, self._streams
        for index, stream in self._streams.by_index.items():
            with on_device(device("cuda", index)):
                before = enter(stream)
                self._before.append((index, before))
                self._begin(stream, before)

    def __exit__(self, *error: object) -> None:
        for index, stream in self._before:
            with on_device(device("cuda", index)):
                self._end(self._streams.by_index[index], stream)
                leave(self._streams.by_index[index], stream)
        _ours.streams = self._outer

    def _begin(self, stream: Any, before: Any) -> None: ...

    def _end(self, stream: Any, before: Any) -> None: ...


class Serving(Acting):
    """The context manager of `Streams.serving`."""

    __slots__ = ()

    def _begin(self, stream: Any, before: Any) -> None:
        stream.wait_event(cupy().cuda.Stream.null.record())

    def _end(self, stream: Any, before: Any) -> None:
        cupy().cuda.Stream.null.wait_event(stream.record())


class Working(Serving):
    """The context manager of `Streams.working`."""

    __slots__ = ()

    def _begin(self, stream: Any, before: Any) -> None:
        super()._begin(stream, before)
        stream.wait_event(before.record())

    def _end(self, stream: Any, before: Any) -> None:
        super()._end(stream, before)
        before.wait_event(stream.record())


class StreamPool:
    """The streams on which an agent's requests run, on these devices.

    They are kept for the life of the process: CuPy's memory pool keeps freed memory per stream, so new streams for each
    agent would never reuse it.
    """

    def __init__(self, devices: list[device]) -> None:
        order_memory()
        self.devices = devices
        self._sets = [_kept(tuple(devices), number) for number in range(POOL)]
        self._turn = itertools.count()
        self.backward = _kept(tuple(devices), POOL)  # one for all passes, as gradients of several messages are added up

    def next(self) -> Streams:
        """Return the streams for a new request, in turn. Requests that share streams do not overlap on the GPU."""
        return self._sets[next(self._turn) % POOL]


@functools.cache
def _kept(devices: tuple[device, ...], number: int) -> Streams:
    return Streams.new(list(devices))
