"""Repeats a call for some time and computes statistics of its duration."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

WARM_UP = 20
MOST_CALLS = 20_000


class Times(NamedTuple):
    """Statistics of the duration of a call, in microseconds."""

    calls: int
    minimum: float
    median: float
    p99: float

    @property
    def per_second(self) -> float:
        return 1e6 / self.median


def repeat(call: Callable[[], object], seconds: float) -> Times:
    """Repeat a call for about this long, at least ten times."""
    for _ in range(WARM_UP):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 10 or (time.perf_counter() < end and len(times) < MOST_CALLS):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    low, middle, high = np.percentile(times, [0, 50, 99])
    return Times(len(times), float(low), float(middle), float(high))
