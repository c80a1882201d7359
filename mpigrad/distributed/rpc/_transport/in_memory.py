"""Transport inside one process, for tests: several agents exchange frames through queues.

A `MemoryNetwork` may delay and drop frames. As with MPI, frames between the same two ranks keep their order, and frames of
different senders may overtake each other; with a seed the order between senders is random.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from mpigrad._core.rpc.transport import Transport, copied

from .._protocol.lost import BY_TEST, lost_frame

# (src, dst, frame) -> seconds until the frame arrives, or None to drop it
Fate = Callable[[int, int, bytes], "float | None"]


class MemoryNetwork:
    """The queues between the agents of one process, one for each pair of ranks.

    Args:
        size: the number of ranks.
        fate: called as `fate(src, dst, frame)`; returns after how many seconds the frame arrives, or None to drop it.
        seed: makes the order of frames from different senders random, but repeatable. Without it, senders take turns.
    """

    def __init__(self, size: int, fate: Fate | None = None, seed: int | None = None) -> None:
        self.size = size
        self.fate = fate
        self.random = random.Random(seed) if seed is not None else None
        self.lost = 0
        self.dead: set[int] = set()
        # reentrant: garbage collection inside `get` may end an RRef of another agent, which sends a message
        self._lock = threading.RLock()
        self._queues: list[dict[int, deque[tuple[float, bytearray]]]] = [
            {src: deque() for src in range(size)} for _ in range(size)
        ]
        self._gathered: dict[int, bytes] = {}
        self._turn = [0] * size
        self.device_receivers: dict[int, Any] = {}  # where device arrays for each rank arrive

    def transport(self, rank: int) -> MemoryTransport:
        """Return the transport for one rank."""
        return MemoryTransport(self, rank)

    def put(self, src: int, dst: int, frame: bytes, message: bytearray) -> None:
        """Enqueue a message for `dst`, or drop it, as `fate` decides.

        `frame` is what `fate` sees; `message` is the copy that arrives, with the arrays that follow.
        """
        seconds = 0.0 if self.fate is None else self.fate(src, dst, frame)
        if seconds is None or src in self.dead or dst in self.dead:
            self.lost += 1
            return
        with self._lock:
            self._queues[dst][src].append((time.monotonic() + seconds, message))

    def get(self, dst: int) -> bytearray | None:
        """Remove and return a message for `dst` that has arrived, from any sender; None if there is none."""
        queues = self._queues[dst]
        if not any(queues.values()):
            return None
        now = time.monotonic()
        with self._lock:
            ready = [queue for queue in queues.values() if queue and queue[0][0] <= now]
            if not ready:
                return None
            self._turn[dst] += 1
            return ready[self._choose(len(ready), self._turn[dst])].popleft()[1]

    def _choose(self, count: int, turn: int) -> int:
        return turn % count if self.random is None else self.random.randrange(count)

    def lose(self, rank: int, ranks: Any = None, seconds: float = 0.0) -> None:
        """Declare a rank lost: its frames, and those to it, are dropped from now on.

        The other ranks, or only `ranks`, get a LOST frame about it after `seconds`.
        """
        self.dead.add(rank)
        for dst in range(self.size) if ranks is None else ranks:
            if dst != rank:
                with self._lock:
                    frame = bytearray(lost_frame(dst, rank, 0, BY_TEST))
                    self._queues[dst][dst].append((time.monotonic() + seconds, frame))

    def gather(self, rank: int, data: bytes, deadline: float) -> list[bytes]:
        """Return the `data` of all ranks, in order; waits until all have called it. TimeoutError after the deadline."""
        self._gathered[rank] = data
        while len(self._gathered) < self.size:
            if time.monotonic() > deadline:
                raise TimeoutError(f"ranks {sorted(set(range(self.size)) - set(self._gathered))} did not call it in time")
            time.sleep(0.0005)
        return [self._gathered[other] for other in range(self.size)]


class MemoryTransport(Transport):
    """One rank of a `MemoryNetwork`."""

    oversubscribed = True

    def __init__(self, network: MemoryNetwork, rank: int) -> None:
        self.network = network
        self.rank = rank
        self.size = network.size
        self.closed = False

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        if not 0 <= dst < self.size:
            raise ValueError(f"rank {dst} is not one of {self.size}")
        self.bytes_sent += len(frame) + sum(array.nbytes for array in follow)
        self.network.put(self.rank, dst, frame, copied(frame, follow, self.network.device_receivers.get(dst)))

    def poll(self, tries: int) -> bytearray | None:
        message = self.network.get(self.rank)
        if message is not None:
            self.bytes_received += len(message)
        return message

    @property
    def device_receiver(self) -> Any:  # type: ignore[override]
        """Receives device arrays. Senders are in the same process and call it directly."""
        return self.network.device_receivers.get(self.rank)

    @device_receiver.setter
    def device_receiver(self, device_receiver: Any) -> None:
        self.network.device_receivers[self.rank] = device_receiver

    def pending(self) -> bool:
        return False

    def unsent(self) -> int:
        return 0

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        return self.network.gather(self.rank, data, deadline)

    def close(self, clean: bool) -> None:
        self.closed = True
