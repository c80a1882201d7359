"""What one worker notes while a trace is on: slices of its threads, arrows between workers, phases of backward passes.

Everything is kept as plain tuples on this worker's own clock, in nanoseconds, and travels once, at the end.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any, NamedTuple

from mpigrad.autograd.profiler import profile


class Slice(NamedTuple):
    """A thread did something from `start` to `end`; `call` names the message that it is about, if any."""

    name: str
    kind: str
    thread: int
    start: int
    end: int
    call: str


class Arrow(NamedTuple):
    """One end of an arrow: where a message left ("s"), or where it was taken up ("f")."""

    call: str
    end: str
    thread: int
    time: int


class Phase(NamedTuple):
    """A stretch of a backward pass on this worker that belongs to no thread."""

    name: str
    key: int
    start: int
    end: int


class Notes(NamedTuple):
    """All that a worker noted."""

    rank: int
    worker: str
    slices: list[Slice]
    arrows: list[Arrow]
    phases: list[Phase]
    threads: dict[int, str]


class _Stack(threading.local):
    """The slices that a thread has begun and not ended."""

    def __init__(self) -> None:
        self.slices: list[tuple[str, str, str, str, int]] = []


class Recorder(profile):
    """A profiler of everything that this process does; calls are noted where they run, so nothing is brought back."""

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
        """This thread begins something; `arrow` if a message leaves there ("s") or arrives ("f"). Without a name: not noted."""
        self._stack.slices.append((name, kind, call, arrow, perf_counter_ns()))

    def end_slice(self) -> None:
        """What this thread began last is over.

        The arrow is noted after the slice on which it lies: notes that are taken in between have neither.
        """
        name, kind, call, arrow, start = self._stack.slices.pop()
        if name:
            self.slices.append(Slice(name, kind, self.here(), start, perf_counter_ns(), call))
        if arrow:
            self.arrows.append(Arrow(call, arrow, self.here(), start))

    def here(self) -> int:
        """This thread, whose name is kept: it may be gone when the trace is written."""
        thread = threading.get_native_id()
        if thread not in self._threads:
            self._threads[thread] = threading.current_thread().name
        return thread

    def begin_phase(self, name: str, key: int) -> None:
        """A phase begins; `key` tells phases of the same name apart."""
        self._open[name, key] = perf_counter_ns()

    def end_phase(self, name: str, key: int) -> None:
        """A phase is over (and forgotten if it began before the trace)."""
        start = self._open.pop((name, key), None)
        if start is not None:
            self.phases.append(Phase(name, key, start, perf_counter_ns()))

    def notes(self, rank: int, worker: str) -> Notes:
        """Everything, operators and nodes included."""
        arrows = list(self.arrows)  # before the slices, so that each has its own among them
        operators = [Slice(name, kind, thread, start, end, "") for name, start, end, thread, kind, *_ in self._found]
        return Notes(rank, worker, operators + self.slices, arrows, self.phases, self._threads)

    def _events(self) -> Any:
        return None  # this profiler has notes instead
