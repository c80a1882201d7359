"""The start of a static world in a job that survives deaths: it succeeds on all live ranks, or on none.

A rank may die when some ranks have started and others still wait for it. So all live ranks agree at the end whether each of
them has started. (MPI's agreement has the same result on all ranks, even if more of them die meanwhile.) If not, all raise an
error that names the dead. A rank that dies after the agreement is lost like any other.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._core import guard
from mpigrad.distributed._mpi import failed_ranks, mpi, mpi_turn

from .._agent import current
from .._protocol.errors import WorkerLostError, lost_error
from .._protocol.lost import BY_MPI, Loss, reason
from .._protocol.worker_info import WorkerInfo
from .._transport.mpi_surviving import check_members
from .leaving import stop

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent


def check_all_live(comm: Any) -> None:
    """Raise MPI's error for failed processes if a rank of the communicator has failed; called while a start waits."""
    with mpi_turn():
        check_members(mpi(), comm)


def join_or_lose(comm: Any, size: int, deadline: float, join: Callable[[], Agent]) -> Agent:
    """Start a world with `join` and return its agent; WorkerLostError on all live ranks if one of them could not start.

    If the world has fewer ranks (`size`) than the communicator, its ranks cannot agree (MPI's agreement needs all ranks
    of the communicator): only those that could not start raise.
    """
    MPI = mpi()
    agent: Agent | None = None
    try:
        agent = join()
    except MPI.Exception:
        if not failed_ranks(MPI, comm):
            raise
    if size < comm.Get_size():  # only some ranks take part, so the communicator cannot be used for an agreement
        if agent is None:
            raise _error(MPI, comm)
        return agent
    if _all_agree(MPI, comm, agent is not None, deadline) and agent is not None:
        return agent
    if agent is not None:
        current.set_agent(None)
        stop(agent, clean=False)
    raise _error(MPI, comm)


def _all_agree(MPI: Any, comm: Any, mine: bool, deadline: float) -> bool:
    """Return whether all live ranks have started. `mine`: whether this one has. TimeoutError after the deadline."""
    flag = array("i", [int(mine)])
    with mpi_turn():
        comm.Ack_failed()  # deaths that this rank knows of do not make the agreement fail; the flag tells about them
        request = comm.Iagree(flag)
    while True:
        try:
            with mpi_turn():
                if request.Test():
                    return bool(flag[0])
        except MPI.Exception as error:  # the agreement is complete, and a rank has died that not all had acknowledged
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            return bool(flag[0])
        if time.monotonic() > deadline:
            raise TimeoutError("timed out waiting for the other ranks to finish init_rpc")
        time.sleep(0.0002)
        guard.deliver()


def _error(MPI: Any, comm: Any) -> WorkerLostError:
    """Return the error of a start that failed: names the dead ranks, as the names of their workers are not known yet."""
    ranks = failed_ranks(MPI, comm)
    text = ", ".join(f"rank {rank}" for rank in ranks) or "a rank"
    first = ranks[0] if ranks else -1
    error = lost_error(Loss(WorkerInfo(f"rank{first}", max(first, 0)), 0, reason(BY_MPI, "", 0)))
    error.args = (f"{text} died during init_rpc, so the world could not be started",)
    return error
