"""Latency of calls: a histogram over powers of two of microseconds, of every sixteenth call."""

from __future__ import annotations

import time

SAMPLE = 15  # calls whose id has none of these bits are measured


class Latency:
    """Times of sampled calls that are under way, and the histogram of those that were answered."""

    def __init__(self) -> None:
        self._began: dict[int, float] = {}
        self._counts: dict[int, int] = {}

    def begin(self, call_id: int, now: float) -> None:
        """A sampled call starts."""
        self._began[call_id] = now

    def end(self, call_id: int) -> None:
        """A sampled call has been answered."""
        began = self._began.pop(call_id, None)
        if began is not None:
            bucket = int((time.monotonic() - began) * 1e6).bit_length()
            self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def forget(self, call_id: int) -> None:
        """A sampled call has been given up."""
        self._began.pop(call_id, None)

    def histogram(self) -> dict[str, int]:
        """How many sampled calls took less than so many microseconds (and at least half of that)."""
        return {f"<{1 << bucket}us": count for bucket, count in sorted(self._counts.items())}
