"""A job that this process has started: its launcher and the exit of its ranks."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mpigrad._launch.command import Job, job_for, rank_program
from mpigrad._launch.launcher import Launcher, find_launcher
from mpigrad._launch.process import start
from mpigrad._process.logs import get_logger
from mpigrad.multiprocessing._deaths import Deaths
from mpigrad.multiprocessing._errors import ProcessException, ProcessExitedException, ProcessRaisedException
from mpigrad.multiprocessing._task import Failure, Task, marks, write_tasks

log = get_logger("spawn")
# Hydra, MPICH's launcher, returns a signal's number as exit code, others return 128 more; os._exit(9) looks the same
DEADLY = (signal.SIGABRT, signal.SIGBUS, signal.SIGKILL, signal.SIGSEGV)


class StartedJob:
    """A started job: its launcher, the files that its ranks write, and the order in which they end."""

    def __init__(
        self, launcher: Launcher, job: Job, directory: Path, nprocs: int, daemon: bool, kept: object = None
    ) -> None:
        self.directory = directory
        self.deaths = Deaths(directory, nprocs)
        self.process = start(job)
        self._hydra = not launcher.library.is_open_mpi and not launcher.is_srun
        self._nprocs = nprocs
        self._daemon = daemon
        self._starter = os.getpid()
        self._kept = kept  # shared memory that ranks map from this process; kept until they have ended
        self._codes: dict[int, int] = {}
        self._pids: dict[int, int] = {}
        atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        """At exit of a program that has not joined the job: wait for the job, or end it if it was started with `daemon=True`."""
        if os.getpid() != self._starter:
            return  # a forked child exits; the job belongs to its parent
        if self._daemon:
            self.process.terminate()
        self.process.wait()
        self.clean_up()

    def clean_up(self) -> None:
        """Remove the files of the job."""
        atexit.unregister(self._at_exit)
        self._kept = None
        self.deaths.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def look(self, seconds: float) -> bool:
        """Watch the ranks for some time; returns whether the job has ended."""
        return self.deaths.wait(self.process, seconds)

    def pids(self) -> dict[int, int]:
        """The process ids of the ranks that have started, by rank."""
        if self.directory.exists():
            self._pids = {rank: start.pid for rank, start in sorted(marks(self.directory, "started").items())}
        return self._pids

    def pid(self, rank: int) -> int | None:
        """The process id of a rank on any host; waits until the rank has started. None if the job ended before that."""
        while rank not in self.pids() and self.process.poll() is None:  # each rank writes a mark when it starts
            time.sleep(0.01)
        return self._pids.get(rank)

    def sentinel(self, rank: int) -> int:
        """A file descriptor that becomes ready when a rank of this host ends."""
        pid = self.pid(rank)
        if pid is None:
            raise RuntimeError(f"rank {rank} ended before it started")
        return os.pidfd_open(pid)

    def exit_code(self, rank: int) -> int | None:
        """The exit code of a rank, in Python's convention; None while it runs."""
        if rank not in self._codes and self.directory.exists():
            if self.process.poll() is not None:
                self._note_codes()
            elif rank in marks(self.directory, "done"):
                self._codes[rank] = 0
        return self._codes.get(rank)

    def _note_codes(self) -> None:
        """Set the exit codes after the end of the job: the launcher ended unfinished ranks because of the first rank that failed.
        """
        self.pids()
        error = self.error()
        done = marks(self.directory, "done")
        for rank in range(self._nprocs):
            # ranks without a mark were ended by the launcher after the failure
            finished = error is None or rank in done
            self._codes[rank] = 0 if finished else -int(signal.SIGTERM)
        if error is not None and error.error_index >= 0:
            self._codes[error.error_index] = getattr(error, "exit_code", 1)

    def error(self) -> ProcessException | None:
        """The error of the rank that failed first; None if none has failed."""
        if not self.process.returncode:
            return None
        for rank, failure in marks(self.directory, "failure").items():  # the oldest one: later ones may follow from it
            return self._told(rank, failure)
        return self._observed(self.process.returncode)

    def _told(self, rank: int, failure: Failure) -> ProcessException:
        if failure.traceback is None:
            message = f"process {rank} terminated with exit code {failure.code}"
            return ProcessExitedException(message, rank, failure.pid, failure.code)
        message = f"\n\n-- Process {rank} terminated with the following error:\n{failure.traceback}"
        return ProcessRaisedException(message, rank, failure.pid)

    def _observed(self, code: int) -> ProcessException:
        """The error of a rank that left no mark because it was killed.

        The launcher's exit code tells how it ended, `Deaths` tells which rank.
        """
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


def launch(tasks: Sequence[Task], daemon: bool) -> StartedJob:
    """Start one rank for each task, with mpiexec."""
    launcher = find_launcher()
    directory = Path(tempfile.mkdtemp(prefix="mpigrad-spawn-"))
    try:
        write_tasks(directory, tasks)
        job = job_for(launcher, len(tasks), rank_program("--spawned", str(directory)))
        log.debug("starting %d ranks with %s", len(tasks), launcher.path)
        return StartedJob(launcher, job, directory, len(tasks), daemon, kept=tasks)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
