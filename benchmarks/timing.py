"""Time one function: warm up, repeat within a budget of seconds, keep the median and the quartiles."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

WARM_UP_SHARE = 0.3
WARM_UP_CALLS = 3
FEWEST_CALLS = 5


@dataclass(frozen=True)
class Sample:
    """The result of one measurement: the median, the quartiles, the number of runs, and the unit.

    ``best`` is the 5th percentile: on a busy machine, the time of undisturbed runs.
    """

    value: float
    low: float
    high: float
    repetitions: int
    unit: str = "s"
    best: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def quantile(ordered: Sequence[float], share: float) -> float:
    """A quantile (0 to 1) of sorted numbers, with linear interpolation."""
    if not ordered:
        raise ValueError("quantile of no numbers: expected at least one")
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarise(values: Sequence[float], unit: str = "s") -> Sample:
    """Median and quartiles of single measurements.

    >>> summarise([3.0, 1.0, 2.0]).value
    2.0
    """
    ordered = sorted(values)
    low, middle, high = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    return Sample(middle, low, high, len(ordered), unit, quantile(ordered, 0.05))


def repeat(function: Callable[[], object], seconds: float, per: int = 1, fewest: int = FEWEST_CALLS) -> Sample:
    """Time each call of ``function`` for about ``seconds``; ``per`` divides a call that does several things."""
    warm_until = time.perf_counter() + WARM_UP_SHARE * seconds
    warmed = 0
    while warmed < WARM_UP_CALLS or time.perf_counter() < warm_until:
        function()
        warmed += 1
    gc.collect()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < fewest or time.perf_counter() < until:
        start = time.perf_counter()
        function()
        times.append((time.perf_counter() - start) / per)
    return summarise(times)
