"""Streams of calls: each handler's device work runs on a stream of its own, and what a call brings back on its caller's.

As PyTorch's CUDA RPC does: a handler takes a stream of a small pool for each GPU; its arguments arrive on it, it is the
current stream while the function runs, and the results leave when it has done its work. What an answer carries arrives
on the streams that were the caller's when it made the call.

Beyond PyTorch's: a handler begins behind what the default stream of its GPU was given before, and the default stream goes
on behind every handler that has ended or sends a message. So values that handlers leave behind (RRefs, parameters,
gradients) are complete for handlers of later messages and for programs that use the default stream, without a thought about
streams. What is later, messages decide: an answer may be acted upon before the thread that sent it goes on.
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
    """The streams that are current in this thread because a handler or a pass runs on them."""

    streams: Streams | None = None


_ours = _Ours()


def publish() -> None:
    """Let the default streams go on behind what a handler or pass in this thread has given its streams so far."""
    if _ours.streams is not None:
        for index, stream in _ours.streams.by_index.items():
            with on_device(device("cuda", index)):
                cupy().cuda.Stream.null.wait_event(stream.record())


def enter(stream: Any) -> Any:
    """Make a stream the current one of this thread and of the current device; the one before, for `leave`."""
    before = cupy().cuda.get_current_stream()
    stream.__enter__()
    return before


def leave(stream: Any, before: Any) -> None:
    """Undo `enter`. CuPy's `with stream:` returns to the stream of the `with` around it, not to one that was chosen with
    `use()`; so does it inside our streams only if we enter them as `with` does, and we must return by ourselves."""
    stream.__exit__()
    before.use()


class Streams:
    """One stream for each GPU in use."""

    __slots__ = ("by_index",)

    def __init__(self, by_index: dict[int, Any]) -> None:
        self.by_index = by_index

    @classmethod
    def new(cls, devices: list[device]) -> Streams:
        """Streams for the exclusive use of the caller."""
        made = {}
        for place in devices:
            with on_device(place):
                made[place.index or 0] = cupy().cuda.Stream(non_blocking=True)
        return cls(made)

    @classmethod
    def current(cls, devices: list[device]) -> Streams:
        """The current streams of this thread."""
        return cls({place.index or 0: current_stream(place) for place in devices})

    def of(self, place: device) -> Any:
        """The stream of a GPU: the default one for a GPU that is not in use."""
        found = self.by_index.get(place.index or 0)
        return cupy().cuda.Stream.null if found is None else found

    def record(self) -> Marks:
        """Events behind all that they have been given, with the streams, by GPU."""
        made = {}
        for index, stream in self.by_index.items():
            with on_device(device("cuda", index)):
                made[index] = stream.record(), stream
        return made

    @staticmethod
    def wait_for(marks: Marks) -> None:
        """Let this thread's current streams wait for what `record` gave, where they are other streams."""
        for index, (event, stream) in marks.items():
            place = device("cuda", index)
            mine = current_stream(place)
            if mine.ptr != stream.ptr:
                with on_device(place):
                    mine.wait_event(event)

    def acting(self) -> Acting:
        """A context manager in which they are the current ones of this thread."""
        return Acting(self)

    def serving(self) -> Serving:
        """The same for a handler, in order with the default streams."""
        return Serving(self)

    def working(self) -> Working:
        """The same for work that this thread would otherwise do on its own current streams, in order with those."""
        return Working(self)


class Acting:
    """What `Streams.acting` gives."""

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
    """What `Streams.serving` gives."""

    __slots__ = ()

    def _begin(self, stream: Any, before: Any) -> None:
        stream.wait_event(cupy().cuda.Stream.null.record())

    def _end(self, stream: Any, before: Any) -> None:
        cupy().cuda.Stream.null.wait_event(stream.record())


class Working(Serving):
    """What `Streams.working` gives."""

    __slots__ = ()

    def _begin(self, stream: Any, before: Any) -> None:
        super()._begin(stream, before)
        stream.wait_event(before.record())

    def _end(self, stream: Any, before: Any) -> None:
        super()._end(stream, before)
        before.wait_event(stream.record())


class StreamPool:
    """The streams of an agent's handlers: made once for all agents of a process, as memory goes back to its stream for ever."""

    def __init__(self, devices: list[device]) -> None:
        order_memory()
        self.devices = devices
        self._sets = [_kept(tuple(devices), number) for number in range(POOL)]
        self._turn = itertools.count()
        self.backward = _kept(tuple(devices), POOL)  # of all passes: gradients of several messages meet in one place

    def next(self) -> Streams:
        """The streams for a new handler. With more handlers than sets, two share one: slower, and just as right."""
        return self._sets[next(self._turn) % POOL]


@functools.cache
def _kept(devices: tuple[device, ...], number: int) -> Streams:
    return Streams.new(list(devices))
