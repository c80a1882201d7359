"""`spawn`: run a function on several ranks, from inside a job or by starting one."""

from __future__ import annotations

import multiprocessing
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mpigrad._launch.command import job_for, rank_program
from mpigrad._launch.launcher import find_launcher
from mpigrad._launch.rank import guarded
from mpigrad._process.logs import get_logger, note_ignored_addresses
from mpigrad._process.rank import launched_size
from mpigrad.multiprocessing._context import ProcessContext
from mpigrad.multiprocessing._job import StartedJob
from mpigrad.multiprocessing._task import write_task

log = get_logger("spawn")


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
    the function itself (`join=False` does not make it return earlier); in a program started as plain `python main.py`
    the ranks are started here, with mpiexec. A job that nobody joins is waited for when the program ends, or ended then
    if it was started with `daemon=True`.

    >>> import mpigrad.multiprocessing as mp
    >>> def main(rank, epochs):
    ...     rpc.init_rpc(f"worker{rank}", rank=rank, world_size=4)
    >>> if __name__ == "__main__":                         # doctest: +SKIP
    ...     mp.spawn(main, args=(10,), nprocs=4)           # python main.py
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t mpigrad.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, "spawn")


def start_processes(
    fn: Callable[..., object],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """The same as `spawn`: whatever the start method, ranks are new processes."""
    multiprocessing.get_context(start_method)  # refuses unknown ones
    note_ignored_addresses("spawn")
    size = launched_size()
    if size is not None:
        return _run_here(fn, args, nprocs, size, join)
    context = ProcessContext(_launch(fn, args, nprocs, daemon))
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
    guarded(lambda: fn(MPI.COMM_WORLD.rank, *args))
    return None if join else ProcessContext(None)


def _launch(fn: Callable[..., object], args: tuple[Any, ...], nprocs: int, daemon: bool) -> StartedJob:
    """Start the ranks with mpiexec."""
    launcher = find_launcher()
    directory = Path(tempfile.mkdtemp(prefix="mpigrad-spawn-"))
    try:
        write_task(directory, fn, args)
        job = job_for(launcher, nprocs, rank_program("--spawned", str(directory)))
        log.debug("starting %d ranks with %s", nprocs, launcher.path)
        return StartedJob(launcher, job, directory, nprocs, daemon)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
