"""The events that one worker records during a trace: slices of threads, arrows between workers, phases of backward passes.

Events are plain tuples with times on this worker's clock in nanoseconds. They are sent once, at the end.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any, NamedTuple

from mpigrad.autograd.profiler import profile


class Slice(NamedTuple):
    """An activity of a thread from `start` to `end`; `call` identifies its message, if any."""

    name: str
    kind: str
    thread: int
    start: int
    end: int
    call: str


class Arrow(NamedTuple):
    """One end of an arrow: a message was sent ("s") or handled ("f")."""

    call: str
    end: str
    thread: int
    time: int


class Phase(NamedTuple):
    """A phase of a backward pass on this worker, which belongs to no thread."""

    name: str
    key: int
    start: int
    end: int


class Notes(NamedTuple):
    """All events of a worker."""

    rank: int
    worker: str
    slices: list[Slice]
    arrows: list[Arrow]
    phases: list[Phase]
    threads: dict[int, str]


class _Stack(threading.local):
    """The slices of a thread that have begun and not ended."""

    def __init__(self) -> None:
        self.slices: list[tuple[str, str, str, str, int]] = []


class Recorder(profile):
    """A profiler of this process. Each worker records its own events, so calls return none to the caller."""

    follows_calls = False

    def __init__(self) -> None:
        super().__init__()
        self.slices: list[Slice] = []
        self.arrows: list[Arrow] = []
        self.phases: list[Phase] = []
        self._open: dict[tuple[str, int], int] = {}
        self._stack = _Stack()
        self._threads: dict[int, str] = {}

    def begin_slice(self, name: str, kind: str, call: str = "", arrow: str = "") -> None:
        """Open a slice of this thread; `arrow` if a message is sent ("s") or handled ("f") in it. Not recorded without a name."""
        self._stack.slices.append((name, kind, call, arrow, perf_counter_ns()))

    def end_slice(self) -> None:
        """Close the innermost slice of this thread.

        The arrow is recorded after its slice, so that a concurrent `notes` never contains an arrow without its slice.
        """
        name, kind, call, arrow, start = self._stack.slices.pop()
        if name:
            self.slices.append(Slice(name, kind, self.here(), start, perf_counter_ns(), call))
        if arrow:
            self.arrows.append(Arrow(call, arrow, self.here(), start))

    def here(self) -> int:
        """The id of this thread; its name is saved, as the thread may have ended when the trace is written."""
        thread = threading.get_native_id()
        if thread not in self._threads:
            self._threads[thread] = threading.current_thread().name
        return thread

    def begin_phase(self, name: str, key: int) -> None:
        """Start a phase; `key` distinguishes phases of the same name."""
        self._open[name, key] = perf_counter_ns()

    def end_phase(self, name: str, key: int) -> None:
        """End a phase; it is dropped if it started before the trace."""
        start = self._open.pop((name, key), None)
        if start is not None:
            self.phases.append(Phase(name, key, start, perf_counter_ns()))

    def notes(self, rank: int, worker: str) -> Notes:
        """All events, including operators and nodes."""
        arrows = list(self.arrows)  # copied before the slices, so that the slice of each arrow is included
        operators = [Slice(name, kind, thread, start, end, "") for name, start, end, thread, kind, *_ in self._found]
        return Notes(rank, worker, operators + self.slices, arrows, self.phases, self._threads)

    def _events(self) -> Any:
        return None  # the results are in `notes`
