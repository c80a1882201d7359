"""`spawn`: runs a function on several ranks, inside a job or by starting one."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable
from typing import Any

from mpigrad._process.logs import note_ignored_addresses
from mpigrad._process.rank import launched_size
from mpigrad.multiprocessing._context import ProcessContext
from mpigrad.multiprocessing._in_job import run_here, wait_for_all
from mpigrad.multiprocessing._job import launch
from mpigrad.multiprocessing._process import processes_of, this_process
from mpigrad.multiprocessing._task import Task


def spawn(
    fn: Callable[..., object],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Run `fn(rank, *args)` on `nprocs` ranks of MPI.

    - In a program started as plain `python main.py`, the ranks are started here, with mpiexec.
    - In a program that `mpirun`, `srun` or `mpigrad run` has started, this process is one of the ranks already and
      calls the function itself (`join=False` does not make it return earlier).

    `join=False` returns a `ProcessContext` at once instead of waiting for the ranks. If the program ends without
    joining the job, it waits for the job, or ends it if it was started with `daemon=True`. `start_method` must be
    "spawn".

    Tensors among the arguments are in memory that the ranks share with this process, as in PyTorch: all of them see
    changes. Queues, locks and managers of a "spawn" context work if the ranks are started here. In a launched job
    every rank creates the arguments itself; tensors on which it called `share_memory_` are then in rank 0's memory.

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
    """The same as `spawn`. Ranks are always new processes, so `start_method` is ignored."""
    multiprocessing.get_context(start_method)  # ValueError for unknown start methods
    note_ignored_addresses("spawn")
    size = launched_size()
    if size is not None:
        run_here(fn, args, nprocs, size)
        if join:
            wait_for_all()
        return None if join else ProcessContext(None, this_process())
    job = launch([Task(fn, args, {}, numbered=True)] * nprocs, daemon)
    context = ProcessContext(job, processes_of(job, nprocs))
    if not join:
        return context
    context.join()
    return None
