"""A counter that any thread may increment without a lock. The agent counts requests with it."""

from __future__ import annotations

import itertools
import threading


class Counter:
    """Counts calls of `next(counter.numbers)`, which is atomic under the GIL and returns each number once.

    An `itertools.count` can only be read by taking a number. `count` therefore takes one and subtracts its own reads.

    >>> counter = Counter(5)
    >>> next(counter.numbers), next(counter.numbers), counter.count(), counter.count()
    (5, 6, 2, 2)
    """

    def __init__(self, start: int = 0) -> None:
        self.numbers = itertools.count(start)
        self._start, self._reads = start, 0
        self._reading = threading.Lock()

    def count(self) -> int:
        """Return how many numbers have been taken so far."""
        with self._reading:
            found = next(self.numbers) - self._start - self._reads
            self._reads += 1
        return found
