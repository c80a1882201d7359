"""A histogram of call latencies in powers of two of microseconds. Only every sixteenth call is measured, to keep calls cheap.

Threads update it without a lock: a lost update would only change a statistic.
"""

from __future__ import annotations

import time

SAMPLE = 15  # calls whose id has none of these bits are measured
_RISE = 0.02  # weight of a measurement that is higher than the estimate `alone`


class Latency:
    """The latencies of sampled calls of one agent: start times of those that are pending, a histogram of those answered."""

    def __init__(self) -> None:
        self._began: dict[int, tuple[float, bool]] = {}
        self._counts: dict[int, int] = {}
        self.alone = 0.0  # estimated seconds of an undisturbed call; 0 if none has been measured

    def begin(self, call_id: int, now: float, alone: bool) -> None:
        """Note that a sampled call starts at `now` (seconds of `time.monotonic()`). `alone`: no other call is pending."""
        self._began[call_id] = now, alone

    def end(self, call_id: int) -> None:
        """Add the time since `begin` to the histogram: the call has been answered."""
        began, alone = self._began.pop(call_id, (0.0, False))
        if began:
            seconds = time.monotonic() - began
            bucket = int(seconds * 1e6).bit_length()
            self._counts[bucket] = self._counts.get(bucket, 0) + 1
            if alone:  # follows low values at once and high ones slowly: these contain what others did meanwhile
                before = self.alone or seconds
                self.alone = min(seconds, before + _RISE * (seconds - before))

    def forget(self, call_id: int) -> None:
        """Drop a sampled call that failed or timed out: it is not in the histogram."""
        self._began.pop(call_id, None)

    def histogram(self) -> dict[str, int]:
        """Return the number of sampled calls per bucket; the key `<64us` counts those from 32 to below 64 microseconds."""
        return {f"<{1 << bucket}us": count for bucket, count in sorted(self._counts.items())}
