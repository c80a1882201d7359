"""A side channel between the ranks of a test job that never blocks in MPI.

Messages are small pickles on a private communicator. Each belongs to a round (one test) and a topic. A rank that waits polls with
a deadline, and stops waiting when another rank reports that its test has failed.

Several threads use a channel, beside those of RPC: its lock is that of all MPI calls if MPI allows one at a time.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

from mpigrad.distributed._mpi import check_thread_level, mpi, turn_lock

POLL_SECONDS = 0.0005


class PeerFailedError(Exception):
    """Raised if another rank's test has failed, because this rank might otherwise wait for it forever."""


class Channel:
    """Point-to-point messages between the ranks, sorted by round, topic and source."""

    def __init__(self) -> None:
        check_thread_level()
        self._mpi = mpi()
        self._comm = self._mpi.COMM_WORLD.Dup()
        self._lock = turn_lock()
        self._inbox: dict[tuple[int, str, int], Any] = {}
        self._sending: list[tuple[Any, bytes]] = []
        self.rank: int = self._comm.rank
        self.size: int = self._comm.size
        self.round = 0
        self._closed = False

    def post(self, topic: str, value: Any, ranks: range | list[int] | None = None) -> None:
        """Send a value on a topic to the given ranks; by default to all, including this one."""
        data = pickle.dumps((self.round, topic, value))
        with self._lock:
            for dst in range(self.size) if ranks is None else ranks:
                if dst == self.rank:
                    self._inbox[self.round, topic, dst] = value
                else:
                    # the data is kept until the send is complete: MPI reads it later
                    self._sending.append((self._comm.Isend([data, self._mpi.BYTE], dst), data))

    def poll(self) -> None:
        """Receive messages that have arrived, and free sends that are complete."""
        status = self._mpi.Status()
        with self._lock:
            if self._closed:  # another thread keeps polling at the end of the session
                return
            self._sending = [(request, data) for request, data in self._sending if not request.Test()]
            # a matched probe, because another thread may poll at the same time
            while (message := self._comm.Improbe(status=status)) is not None:
                data = bytearray(status.Get_count(self._mpi.BYTE))
                message.Recv([data, self._mpi.BYTE])
                round_, topic, value = pickle.loads(data)
                self._inbox[round_, topic, status.Get_source()] = value

    def received(self, topic: str) -> dict[int, Any]:
        """The messages of this round on a topic, by rank."""
        with self._lock:
            return {src: value for (r, t, src), value in self._inbox.items() if r == self.round and t == topic}

    def gather(
        self, topic: str, value: Any, watch: Callable[[], None] = lambda: None, pause: float = POLL_SECONDS
    ) -> list[Any]:
        """Exchange one value with all ranks. While this rank waits, it calls `watch`, which may raise an error to end the wait.
        """
        self.post(topic, value)
        while len(answers := self.received(topic)) < self.size:
            self.poll()
            watch()
            time.sleep(pause)
        return [answers[rank] for rank in range(self.size)]

    def missing(self, topic: str) -> list[int]:
        """The ranks that have not posted on the topic in this round."""
        return [rank for rank in range(self.size) if rank not in self.received(topic)]

    def next_round(self) -> None:
        """Begin another test; messages of earlier tests are dropped."""
        self.round += 1
        with self._lock:
            self._inbox = {key: value for key, value in self._inbox.items() if key[0] >= self.round}

    def close(self) -> None:
        """Wait until all messages have been sent, then free the communicator."""
        self.round += 1
        self.gather("close", None)
        while self._sending:
            self.poll()
            time.sleep(POLL_SECONDS)
        with self._lock:
            self._closed = True
            self._comm.Free()
