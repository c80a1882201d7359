"""What `spawn(..., join=False)` returns: ranks to wait for."""

from __future__ import annotations

import os
import signal
import warnings

from mpigrad._launch.process import forwarding
from mpigrad.multiprocessing._job import StartedJob
from mpigrad.multiprocessing._task import marks

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ProcessContext:
    """The ranks that `spawn(..., join=False)` has started."""

    def __init__(self, job: StartedJob | None) -> None:
        self._job = job
        self._pids = [] if job else [os.getpid()]

    def pids(self) -> list[int]:
        """Process ids of the ranks that have begun, on whatever host they are."""
        if self._job is not None:
            started = marks(self._job.directory, "started")
            self._pids = [started[rank].pid for rank in sorted(started)]
        return self._pids

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for all ranks; False when the time was not enough, and an exception when a rank has failed.

        The launcher ends the other ranks when one fails, so there is nothing to do in `grace_period`.
        """
        if self._job is None:
            return True
        with forwarding(self._job.process) as received:
            if not self._job.deaths.wait(self._job.process, timeout):
                return False
        self.pids()
        error = self._job.error()
        self._job.clean_up()
        self._job = None
        for number in received:
            if number in ENDING:  # the ranks have been told; now this process does what it would have done
                signal.raise_signal(number)
        if error is not None:
            raise error
        return True


class SpawnContext(ProcessContext):
    """The old name of `ProcessContext`."""

    def __init__(self, job: StartedJob | None) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(job)
