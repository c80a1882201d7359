"""Estimates the offsets between the clocks of workers by calls that return the time."""

from __future__ import annotations

from time import perf_counter_ns
from typing import NamedTuple

import mpigrad.distributed.rpc as rpc

QUESTIONS = 20


def now() -> int:
    """The time of this worker's clock in nanoseconds; other workers call it by RPC."""
    return perf_counter_ns()


class Reading(NamedTuple):
    """One comparison of clocks: the other worker's clock showed `theirs` when ours showed `ours`, with the uncertainty `error`;
    in nanoseconds.
    """

    ours: int
    theirs: int
    error: int


def read(worker: str) -> Reading:
    """Ask several times and use the fastest answer, since the uncertainty is the duration of the call."""
    best: Reading | None = None
    for _ in range(QUESTIONS):
        start = perf_counter_ns()
        theirs = rpc.rpc_sync(worker, now)
        end = perf_counter_ns()
        found = Reading((start + end) // 2, theirs, (end - start) // 2)
        if best is None or found.error < best.error:
            best = found
    assert best is not None
    return best


class Clock(NamedTuple):
    """Another worker's clock, from two readings, with linear drift between them."""

    first: Reading
    last: Reading

    def ours(self, theirs: int) -> float:
        """Convert a time of their clock to ours.

        >>> Clock(Reading(0, 1000, 5), Reading(100, 1200, 5)).ours(1100)
        50.0
        """
        begin, end = self.first, self.last
        span = end.theirs - begin.theirs
        rate = (end.ours - begin.ours) / span if span > 0 else 1.0
        return begin.ours + (theirs - begin.theirs) * rate

    @property
    def error(self) -> int:
        """The uncertainty of `ours`, in nanoseconds."""
        return max(self.first.error, self.last.error)


SAME = Clock(Reading(0, 0, 0), Reading(1, 1, 0))
