"""`spawn`: run a function on several ranks, from inside a job or by starting one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpigrad._launch.command import job_for
from mpigrad._launch.launcher import find_launcher
from mpigrad._launch.process import forwarding
from mpigrad._launch.rank import abort, report
from mpigrad._logging import get_logger, note_ignored_addresses
from mpigrad._rank import launched_size
from mpigrad.multiprocessing import _task
from mpigrad.multiprocessing._errors import ProcessExitedException, ProcessRaisedException

log = get_logger("spawn")


class ProcessContext:
    """The ranks that `spawn(..., join=False)` has started."""

    def __init__(self, process: subprocess.Popen[str] | None, directory: Path | None, nprocs: int) -> None:
        self._process = process
        self._directory = directory
        self._nprocs = nprocs

    def pids(self) -> list[int]:
        """Process ids of the ranks that have begun, on whatever host they are."""
        started = _task.ranks_with(self._directory, "started") if self._directory else {0: os.getpid()}
        return [started[rank] for rank in sorted(started)]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for all ranks; False when the time was not enough, and an exception when a rank has failed."""
        if self._process is None or self._directory is None:
            return True
        try:
            with forwarding(self._process):
                code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        try:
            if code:
                self._raise(code, self._directory)
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        return True

    def _raise(self, code: int, directory: Path) -> None:
        for rank, (pid, text) in sorted(_task.read_failures(directory).items()):
            message = f"\n\n-- Process {rank} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, rank, pid)
        started, done = _task.ranks_with(directory, "started"), _task.ranks_with(directory, "done")
        left = [rank for rank in range(self._nprocs) if rank not in done]
        who = left[0] if len(left) == 1 else -1
        name = f"process {who}" if who >= 0 else f"one of the processes {left}"
        number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
        if number:
            signal_name = signal.Signals(number).name
            message = f"{name} terminated with signal {signal_name}"
            raise ProcessExitedException(message, who, started.get(who, -1), code, signal_name)
        raise ProcessExitedException(f"{name} terminated with exit code {code}", who, started.get(who, -1), code)


SpawnContext = ProcessContext


def spawn(
    fn: Callable[..., object],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(rank, *args)` on `nprocs` ranks.

    In a program that `mpirun`, `srun` or `mpigrad run` has started, this process is one of the ranks already and calls
    the function itself; in a program started as plain `python main.py` the ranks are started here, with mpiexec.
    `daemon` and `start_method` are accepted for programs written for PyTorch: ranks always are new processes that end
    with the job.

    >>> import mpigrad.multiprocessing as mp
    >>> def main(rank, epochs):
    ...     rpc.init_rpc(f"worker{rank}", rank=rank, world_size=4)
    >>> if __name__ == "__main__":                         # doctest: +SKIP
    ...     mp.spawn(main, args=(10,), nprocs=4)           # python main.py
    """
    note_ignored_addresses("spawn")
    size = launched_size()
    if size is not None:
        return _run_here(fn, args, nprocs, size, join)
    context = _launch(fn, args, nprocs)
    if not join:
        return context
    context.join()
    return None


def _run_here(
    fn: Callable[..., object], args: tuple[Any, ...], nprocs: int, size: int, join: bool
) -> ProcessContext | None:
    """Call the function in this rank; a failure ends the whole job, as the others may wait for this rank."""
    if nprocs != size:
        raise ValueError(f"spawn was asked for nprocs={nprocs}, but this job was launched with {size} ranks")
    from mpi4py import MPI

    if MPI.COMM_WORLD.size != size:
        raise RuntimeError(
            f"the launcher has started {size} ranks, but MPI sees {MPI.COMM_WORLD.size}: the launcher belongs to "
            "another MPI than mpi4py uses; `mpigrad doctor` shows both"
        )
    try:
        fn(MPI.COMM_WORLD.rank, *args)
    except Exception as error:
        report(error)
        abort(1)
    return None if join else ProcessContext(None, None, nprocs)


def _launch(fn: Callable[..., object], args: tuple[Any, ...], nprocs: int) -> ProcessContext:
    """Start the ranks with mpiexec."""
    launcher = find_launcher()
    directory = Path(tempfile.mkdtemp(prefix="mpigrad-spawn-"))
    _task.write_task(directory, fn, args)
    job = job_for(launcher, nprocs, [sys.executable, "-m", "mpigrad.multiprocessing", str(directory)])
    log.debug("starting %d ranks with %s", nprocs, launcher.path)
    return ProcessContext(subprocess.Popen(job.command, env=job.environment, text=True), directory, nprocs)


def start_processes(
    fn: Callable[..., object],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """The same as `spawn`, whatever the start method."""
    return spawn(fn, args, nprocs, join, daemon, start_method)
