"""Which rank has ended first: a launcher's code tells how a rank has failed, but not which."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from pathlib import Path

from mpigrad.multiprocessing._task import marks

SECONDS_BETWEEN_LOOKS = 0.05


class Deaths:
    """Watches the ranks that live on this host. The kernel keeps the order in which they end, however late we look."""

    def __init__(self, directory: Path, nprocs: int) -> None:
        self._directory = directory
        self._unseen = set(range(nprocs))
        self._rank_of: dict[int, int] = {}  # by file descriptor
        self._epoll = select.epoll()
        self.groups: list[set[int]] = []  # ranks that have ended, the first in front; a group's own order is not known

    def close(self) -> None:
        """Let go of the processes."""
        for descriptor in self._rank_of:
            os.close(descriptor)
        self._rank_of.clear()
        self._epoll.close()

    def wait(self, launcher: subprocess.Popen[str], timeout: float | None) -> bool:
        """Watch until the launcher ends; False when the time is over before."""
        end = None if timeout is None else time.monotonic() + timeout
        while launcher.poll() is None:
            if end is not None and time.monotonic() >= end:
                return False
            self._look_for_new()
            self._collect(SECONDS_BETWEEN_LOOKS)
        self._collect(0)
        return True

    def first(self, done: set[int]) -> int | None:
        """The rank that was the first to end without having finished, if that was seen."""
        left = [group - done for group in self.groups]
        first: set[int] = next(filter(None, left), set())
        return next(iter(first)) if len(first) == 1 else None

    def _look_for_new(self) -> None:
        gone = set()
        for rank, start in marks(self._directory, "started").items() if self._unseen else ():
            if rank not in self._unseen:
                continue
            self._unseen.remove(rank)
            if start.host == socket.gethostname():
                try:
                    descriptor = os.pidfd_open(start.pid)
                except ProcessLookupError:
                    gone.add(rank)
                    continue
                except OSError:  # a kernel older than Linux 5.3
                    continue
                self._rank_of[descriptor] = rank
                self._epoll.register(descriptor, select.EPOLLIN)
        if gone:
            self.groups.append(gone)

    def _collect(self, seconds: float) -> None:
        for descriptor, _ in self._epoll.poll(seconds):
            self._epoll.unregister(descriptor)
            os.close(descriptor)
            self.groups.append({self._rank_of.pop(descriptor)})
