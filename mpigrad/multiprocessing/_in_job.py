"""`spawn` in a program that a launcher has started: every process already is a rank and has created the arguments itself.

In PyTorch the arguments are created once. So tensors in shared memory are replaced by those of rank 0 in all ranks; queues and
the like, of which each rank would have a separate one, are refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mpigrad._array.shared import Reference, SharedBlock, attach
from mpigrad._launch.rank import guarded
from mpigrad._ops.tensor.sharing import move_memory
from mpigrad.multiprocessing.reductions import of_python, shared_blocks

SECONDS_BETWEEN_LOOKS = 0.002


def run_here(fn: Callable[..., object], args: tuple[Any, ...], nprocs: int, size: int) -> None:
    """Call the function in this rank; a failure aborts the whole job, as other ranks may wait for this one."""
    if nprocs != size:
        raise ValueError(f"spawn was called with nprocs={nprocs}, but this job was launched with {size} ranks")
    refuse_pythons(args)
    from mpi4py import MPI

    if MPI.COMM_WORLD.size != size:
        raise RuntimeError(
            f"the launcher has started {size} ranks, but MPI sees {MPI.COMM_WORLD.size}: the launcher belongs to "
            "another MPI than mpi4py uses; `mpigrad doctor` shows both"
        )
    share_with_first(args, MPI.COMM_WORLD)
    guarded(lambda: fn(MPI.COMM_WORLD.rank, *args))


def wait_for_all() -> None:
    """Wait until all ranks have called this, as a program that joins its processes expects; polls with pauses."""
    from mpi4py import MPI

    if MPI.Is_finalized():
        return
    request = MPI.COMM_WORLD.Ibarrier()
    while not request.Test():
        time.sleep(SECONDS_BETWEEN_LOOKS)


def refuse_pythons(args: Any) -> None:
    """Raise an error for Python's queues, locks and managers: they connect a process with its children, not ranks of a job."""
    found = of_python(args)
    if found is not None:
        raise RuntimeError(
            f"a {type(found).__name__} of Python's multiprocessing cannot connect ranks that a launcher has started: each of "
            "them has created a separate one. Start the program as plain `python main.py`, or use rpc, or send and recv of "
            "mpigrad.distributed"
        )


def share_with_first(args: Any, comm: Any) -> None:
    """Move shared tensors inside `args` to rank 0's memory. Collective."""
    own = shared_blocks(args)
    references = comm.bcast([block.reference() for block in own])
    blocks: list[SharedBlock] = []
    problem = None
    try:
        blocks = _attach_all(own, references)
    except RuntimeError as error:
        problem = f"rank {comm.rank}: {error}"
    for said in comm.allgather(problem):
        if said is not None:
            raise RuntimeError(said)
    if comm.rank and own:
        move_memory({id(old): new.memory() for old, new in zip(own, blocks)})


def _attach_all(own: list[SharedBlock], references: list[Reference]) -> list[SharedBlock]:
    sizes, theirs = [block.size_of_data for block in own], [reference.nbytes for reference in references]
    if sizes != theirs:
        raise RuntimeError(
            f"the shared tensors among the arguments have {sizes} bytes, those of rank 0 {theirs}; all ranks must make the same"
        )
    return [attach(reference) for reference in references]
