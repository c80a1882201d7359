"""Bounded pools of pinned host memory, through which arrays on GPUs are staged.

Sends and receives have separate pools, so that they cannot deadlock: a send keeps its buffer until the piece has been received,
and a receive takes a buffer only for a piece that has arrived. Neither ever waits for a buffer of the other kind.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from mpigrad._array.device import pinned_empty

from .transfers import PACKED_MAX, PIECE_BITS

SMALL, LARGE = PACKED_MAX, 1 << PIECE_BITS
COUNTS = {SMALL: 64, LARGE: 8}  # 4 MiB and 32 MiB at most, in each pool


class PinnedPool:
    """A pool of pinned buffers of two sizes, allocated on demand and kept. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[int, deque[Any]] = {size: deque() for size in COUNTS}
        self._made = dict.fromkeys(COUNTS, 0)
        self._busy: deque[tuple[Any, Any]] = deque()  # (event, buffer): a GPU reads the buffer until the event

    def acquire(self, nbytes: int) -> Any:
        """Return a buffer of at least `nbytes`; None if all are in use. Never waits. ValueError if no buffer is so large."""
        size = SMALL if nbytes <= SMALL else LARGE
        if nbytes > size:
            raise ValueError(f"malformed message: a piece of {nbytes} bytes, the longest has {LARGE}")
        with self._lock:
            self._reclaim()
            if self._free[size]:
                return self._free[size].pop()
            if self._made[size] >= COUNTS[size]:
                return None
            self._made[size] += 1
        return pinned_empty(size, "u1")

    def release(self, buffer: Any) -> None:
        """Return a buffer to the pool."""
        self._free[buffer.nbytes].append(buffer)  # atomic, so without the lock

    def release_after(self, event: Any, buffer: Any) -> None:
        """Return a buffer to the pool when the GPU has passed an event; later calls of `acquire` check that."""
        with self._lock:
            self._busy.append((event, buffer))

    def _reclaim(self) -> None:
        for _ in range(len(self._busy)):
            event, buffer = self._busy.popleft()
            if event.done:
                self._free[buffer.nbytes].append(buffer)
            else:
                self._busy.append((event, buffer))

    def made_bytes(self) -> int:
        """Return how many bytes of pinned memory the pool has allocated."""
        return sum(size * count for size, count in self._made.items())


FOR_SENDS, FOR_RECEIVES = PinnedPool(), PinnedPool()
