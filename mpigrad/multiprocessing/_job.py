"""A job that this process has started: its launcher, and how its ranks end."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
from pathlib import Path

from mpigrad._launch.command import Job
from mpigrad._launch.launcher import Launcher
from mpigrad._launch.process import start
from mpigrad.multiprocessing._deaths import Deaths
from mpigrad.multiprocessing._errors import ProcessException, ProcessExitedException, ProcessRaisedException
from mpigrad.multiprocessing._task import Failure, marks

# Hydra, MPICH's launcher, returns a signal's number as if it were a code, others 128 more; os._exit(9) looks the same
DEADLY = (signal.SIGABRT, signal.SIGBUS, signal.SIGKILL, signal.SIGSEGV)


class StartedJob:
    """A job that was started here: its launcher, what its ranks leave behind, and which of them end."""

    def __init__(self, launcher: Launcher, job: Job, directory: Path, nprocs: int, daemon: bool) -> None:
        self.directory = directory
        self.deaths = Deaths(directory, nprocs)
        self.process = start(job)
        self._hydra = not launcher.library.is_open_mpi and not launcher.is_srun
        self._nprocs = nprocs
        self._daemon = daemon
        self._starter = os.getpid()
        atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        """Nobody has joined: wait, or end the job of daemons, as Python does with processes."""
        if os.getpid() != self._starter:
            return  # a forked child ends; the job is its parent's
        if self._daemon:
            self.process.terminate()
        self.process.wait()
        self.clean_up()

    def clean_up(self) -> None:
        """Remove what the job has left."""
        atexit.unregister(self._at_exit)
        self.deaths.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def error(self) -> ProcessException | None:
        """The error of the rank that was the first to fail."""
        if not self.process.returncode:
            return None
        for rank, failure in marks(self.directory, "failure").items():
            return self._told(rank, failure)
        return self._observed(self.process.returncode)

    def _told(self, rank: int, failure: Failure) -> ProcessException:
        if failure.traceback is None:
            message = f"process {rank} terminated with exit code {failure.code}"
            return ProcessExitedException(message, rank, failure.pid, failure.code)
        message = f"\n\n-- Process {rank} terminated with the following error:\n{failure.traceback}"
        return ProcessRaisedException(message, rank, failure.pid)

    def _observed(self, code: int) -> ProcessException:
        """A rank has ended without a word: the launcher's code says how, and the order of deaths who."""
        started, done = marks(self.directory, "started"), set(marks(self.directory, "done"))
        left = [rank for rank in range(self._nprocs) if rank not in done]
        first = left[0] if len(left) == 1 else self.deaths.first(done)
        who = -1 if first is None else first
        name = f"one of the processes {left}" if first is None else f"process {first}"
        pid = started[who].pid if who in started else -1
        number = self._signal_of(code)
        if number:
            signal_name = signal.Signals(number).name
            message = f"{name} terminated with signal {signal_name}"
            return ProcessExitedException(message, who, pid, -number, signal_name)
        return ProcessExitedException(f"{name} terminated with exit code {code}", who, pid, code)

    def _signal_of(self, code: int) -> int:
        number = -code if code < 0 else code - 128 if code > 128 else code if self._hydra and code in DEADLY else 0
        return number if number in set(signal.Signals) else 0
