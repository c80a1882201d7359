"""A lock for work on GPUs: taking it also makes the current streams wait for the work that the previous holder has queued.

An ordinary lock would not do: its holder only queues kernels, which may still run when the next thread has the lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mpigrad._array.device import device, is_loaded

from .._gpu.streams import Marks, Streams


class Turns:
    """Lets threads that use different CUDA streams change the same arrays one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: Marks = {}

    @contextmanager
    def taken(self, devices: Iterable[device]) -> Iterator[None]:
        """Hold the lock inside the block, for work on these devices. Without a GPU it is an ordinary lock."""
        with self._lock:
            places = [each for each in set(devices) if each.type == "cuda"] if is_loaded() else []
            if not places:
                yield
                return
            Streams.wait_for({place.index or 0: self._marks[place.index or 0] for place in places if place.index in self._marks})
            try:
                yield
            finally:
                self._marks |= Streams.current(places).record()
