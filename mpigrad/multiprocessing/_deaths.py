"""Finds out which rank ended first: the launcher's exit code tells how a rank failed, but not which one."""

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
    """Watches the ranks on this host with pidfds and epoll. The kernel reports them in the order in which they ended."""

    def __init__(self, directory: Path, nprocs: int) -> None:
        self._directory = directory
        self._unseen = set(range(nprocs))
        self._rank_of: dict[int, int] = {}  # file descriptor -> rank
        self._epoll = select.epoll()
        self.groups: list[set[int]] = []  # ended ranks, first group first; the order within a group is not known

    def close(self) -> None:
        """Close the file descriptors."""
        for descriptor in self._rank_of:
            os.close(descriptor)
        self._rank_of.clear()
        self._epoll.close()

    def wait(self, launcher: subprocess.Popen[str], timeout: float | None) -> bool:
        """Watch until the launcher ends; False after the timeout."""
        end = None if timeout is None else time.monotonic() + timeout
        while launcher.poll() is None:
            if end is not None and time.monotonic() >= end:
                return False
            self._look_for_new()
            self._collect(SECONDS_BETWEEN_LOOKS)
        self._collect(0)
        return True

    def first(self, done: set[int]) -> int | None:
        """The first rank that ended without having finished; None if it was not observed."""
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
                # ended between its mark and this look: the order among such ranks is unknown
                except ProcessLookupError:
                    gone.add(rank)
                    continue
                except OSError:  # Linux before 5.3 has no pidfd
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
