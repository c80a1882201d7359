"""A histogram of call latencies in powers of two of microseconds. Only every sixteenth call is measured, to keep calls cheap.

Threads update it without a lock: a lost update would only change a statistic.
"""

from __future__ import annotations

import time

SAMPLE = 15  # calls whose id has none of these bits are measured


class Latency:
    """The latencies of sampled calls of one agent: start times of those that are pending, a histogram of those answered."""

    def __init__(self) -> None:
        self._began: dict[int, float] = {}
        self._counts: dict[int, int] = {}

    def begin(self, call_id: int, now: float) -> None:
        """Note that a sampled call starts at `now` (seconds of `time.monotonic()`)."""
        self._began[call_id] = now

    def end(self, call_id: int) -> None:
        """Add the time since `begin` to the histogram: the call has been answered."""
        began = self._began.pop(call_id, None)
        if began is not None:
            bucket = int((time.monotonic() - began) * 1e6).bit_length()
            self._counts[bucket] = self._counts.get(bucket, 0) + 1

    def forget(self, call_id: int) -> None:
        """Drop a sampled call that failed or timed out: it is not in the histogram."""
        self._began.pop(call_id, None)

    def lowest(self) -> float:
        """Return the latency of fast calls in seconds; 0.0 if no call has been measured.

        It is the middle of the lowest bucket that has at least a tenth of all calls: single outliers do not count.
        """
        counts = sorted(self._counts.items())
        enough = sum(count for _, count in counts) / 10
        return next(((1 << bucket) * 0.75e-6 for bucket, count in counts if count >= enough), 0.0)

    def histogram(self) -> dict[str, int]:
        """Return the number of sampled calls per bucket; the key `<64us` counts those from 32 to below 64 microseconds."""
        return {f"<{1 << bucket}us": count for bucket, count in sorted(self._counts.items())}
