"""The result of `spawn(..., join=False)`: ranks to wait for."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Sequence
from typing import Any

from mpigrad._launch.process import forwarding
from mpigrad.multiprocessing._job import StartedJob

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class ProcessContext:
    """What `spawn(..., join=False)` returns: the ranks that it has started. `processes` is a list of Python's process objects."""

    def __init__(self, job: StartedJob | None, processes: Sequence[Any] = ()) -> None:
        self._job = job
        self.processes = list(processes)

    def pids(self) -> list[int | None]:
        """Process ids of the ranks on all hosts; waits until all have started. None for a rank that never started."""
        return [process.pid for process in self.processes]

    @property
    def sentinels(self) -> dict[int, int]:
        """A dict to the rank of each process on this host, from a file descriptor that becomes ready when the process ends."""
        return {process.sentinel: rank for rank, process in enumerate(self.processes)}

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until all ranks have ended, and return True; after `timeout` seconds (None: no limit) return False.

        Raises a `ProcessRaisedException` or `ProcessExitedException` if a rank has failed. The launcher ends the
        other ranks when one fails, so `grace_period` has no effect.
        """
        if self._job is None:
            return True
        with forwarding(self._job.process) as received:
            if not self._job.deaths.wait(self._job.process, timeout):
                return False
        for process in self.processes:
            process.join()
        error = self._job.error()
        self._job.clean_up()
        self._job = None
        for number in received:
            if number in ENDING:  # forwarded to the ranks; now handle the signal in this process as usual
                signal.raise_signal(number)
        if error is not None:
            raise error
        return True


class SpawnContext(ProcessContext):
    """Deprecated name of `ProcessContext`."""

    def __init__(self, job: StartedJob | None, processes: Sequence[Any] = ()) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(job, processes)
