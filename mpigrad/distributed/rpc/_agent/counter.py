"""A counter that any thread may increase without a lock."""

from __future__ import annotations

import itertools
import threading


class Counter:
    """Counts how many numbers were taken with `next(counter.numbers)`, which is atomic and gives each number once.

    Reading takes a number too, and leaves it out of the count, because an `itertools.count` cannot be read otherwise.

    >>> counter = Counter(5)
    >>> next(counter.numbers), next(counter.numbers), counter.count(), counter.count()
    (5, 6, 2, 2)
    """

    def __init__(self, start: int = 0) -> None:
        self.numbers = itertools.count(start)
        self._start, self._reads = start, 0
        self._reading = threading.Lock()

    def count(self) -> int:
        """How many numbers have been taken so far."""
        with self._reading:
            found = next(self.numbers) - self._start - self._reads
            self._reads += 1
        return found
