"""Start: makes this process a worker of the world of its MPI job or of a given communicator. Called by `init_rpc`."""

from __future__ import annotations

import atexit
import logging
import os
import time
from collections.abc import Callable
from typing import Any

from mpigrad._core import guard
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.mpi import MPITransport
from mpigrad._process.mpi_end import leave_mpi_unfinalised
from mpigrad._process.rank import check_expected_size, how_to_start, singletons
from mpigrad._process.survival import WHOLE, WHOLE_BYTES, heartbeat, replaced, sends_frames_whole, spares, survive
from mpigrad.distributed import _mpi
from mpigrad.distributed._first_ranks import refuse
from mpigrad.distributed._spares import program_size

from .._agent import current
from .._protocol.message import MAX_WORKERS
from .._transport.choose import open_transport
from .drain import drain_dynamic_groups
from .leaving import stop
from .roll_call import RollCall
from .static import start_static

_STARTS, _TAGS = 1 << 15, 1 << 10  # of worlds on one communicator until tags are used again, at most; tags of each, at least
logger = logging.getLogger(__name__)


def start_mpi_agent(name: str, rank: int, world_size: int | None, options: Any) -> Agent:
    """Join a world over MPI and return the agent; called by `init_rpc`, whose arguments it has.

    `options` are `MPIRpcBackendOptions`; the workers are ranks of their communicator, by default COMM_WORLD. `world_size`
    None means a dynamic world.
    """
    _mpi.check_thread_level()
    MPI = _mpi.mpi()
    comm = MPI.COMM_WORLD if options.comm is None else options.comm
    if world_size == 1 and comm.Get_size() != 1:
        comm = MPI.COMM_SELF  # world_size=1 in a larger job: this rank is a world by itself
    check_place(rank, world_size, comm)
    check_expected_size(MPI.COMM_WORLD.Get_size())  # a launcher of another MPI starts many jobs of one rank
    _mpi.abort_on_uncaught()
    atexit.unregister(_leave_at_exit)  # register again as the last one: handlers run in reverse order
    atexit.register(_leave_at_exit)
    deadline = time.monotonic() + options.init_timeout
    if not survive() and not heartbeat():
        return _join(name, comm, world_size, options, deadline)
    from .heartbeat import watch  # before the first heartbeat of another worker arrives

    agent = _join(name, comm, world_size, options, deadline)
    watch(agent, heartbeat())
    return agent


def _join(name: str, comm: Any, world_size: int | None, options: Any, deadline: float) -> Agent:
    if survive():
        leave_mpi_unfinalised()  # MPI_Finalize may wait for a lost rank, without a timeout
        if not sends_frames_whole():
            logger.warning(
                "if a rank dies while it sends a message, others may wait forever: start the job with `mpigrad run --survive`, "
                "or add %s to mpirun's options",
                " ".join(f"--mca {name} {WHOLE_BYTES}" for name in WHOLE),
            )
    if world_size is None:
        from .dynamic import join_dynamic

        return join_dynamic(name, comm, options)
    if spares() and world_size > 1 and comm == _mpi.mpi().COMM_WORLD:
        raise RuntimeError(
            f"init_rpc was given world_size={world_size} in a job with spares (mpigrad run --spares), which can only join a "
            "dynamic world: leave world_size out and pass dynamic=True"
        )
    if survive():
        from .start_surviving import join_or_lose

        return join_or_lose(comm, world_size, deadline, lambda: _join_static(name, comm, world_size, options, deadline))
    return _join_static(name, comm, world_size, options, deadline)


class _Meeting:
    """A start of a static world that may be interrupted and continued: the roll call, and the transport on its communicator.

    `duplicate` is that communicator if it is private, otherwise None.
    """

    def __init__(self, comm: Any, size: int) -> None:
        check: Callable[[Any], None] | None = None
        if survive():
            from .start_surviving import check_all_live as check
        self._roll_call = RollCall(comm, size, check)
        self._transport: MPITransport | None = None

    def open(self, deadline: float) -> MPITransport:
        """Wait for all ranks, then return the transport; TimeoutError after the deadline."""
        self._roll_call.meet(deadline)
        call = self._roll_call
        self.duplicate = None if call.shares else call.duplicate
        if self._transport is None:
            tags = _tags_of_start(call.duplicate, call.number) if call.shares else ()
            self._transport = open_transport(call.duplicate, *tags)
        self._transport.gather_again()
        return self._transport


def _tags_of_start(comm: Any, number: int) -> tuple[int, int]:
    """Return the first tag of start `number` on a communicator that it shares with its user, and how many tags it has.

    They are in the second quarter of all tags: dynamic worlds use the upper half, and user programs hardly any but the lowest.
    Late messages of an earlier start have other tags.
    """
    upper = comm.Get_attr(_mpi.mpi().TAG_UB) or 32767
    quarter = upper // 4 - 16  # the tags right below the upper half are those of roll calls and spares
    starts = max(1, min(_STARTS, quarter // _TAGS))
    count = quarter // starts
    return upper // 4 + number % starts * count, count


_meetings: dict[tuple[int, int], _Meeting] = {}  # interrupted or timed-out starts, by handle of the communicator and size


def _join_static(name: str, comm: Any, size: int, options: Any, deadline: float) -> Agent:
    """Join a static world, or continue an interrupted start: the other ranks still wait in the same collective operation."""
    place = _mpi.mpi()._handleof(comm), size
    meeting = _meetings.pop(place, None) or _Meeting(comm, size)
    try:
        transport = meeting.open(deadline)
        agent = start_static(name, transport, options, deadline, current.set_agent)
    except BaseException as error:
        if isinstance(error, TimeoutError) or not isinstance(error, Exception):
            _meetings[place] = meeting
        raise
    transport.forget_gathers()
    agent.communicator = meeting.duplicate
    return agent


def size_of_world(options: Any) -> int:
    """Return the number of ranks of the communicator in the options, without spares."""
    comm = _mpi.mpi().COMM_WORLD if getattr(options, "comm", None) is None else options.comm
    return program_size(comm)


def check_place(rank: int, world_size: int | None, comm: Any) -> None:
    """Check the arguments of `init_rpc` against MPI; RuntimeError, with the likely cause and a remedy, if they do not fit.

    They do not fit if `rank` differs from MPI's, or the communicator has fewer ranks than `world_size`. A world that is too large
    is an error as well.
    """
    size, own = comm.Get_size(), comm.Get_rank()
    if (world_size or size) > MAX_WORKERS:
        raise RuntimeError(
            f"a world has at most {MAX_WORKERS:,} workers, because ids contain the worker's number in 24 bits; this one would "
            f"have {world_size or size:,}: start fewer ranks, or make several worlds with MPIRpcBackendOptions(comm=...)"
        )
    if world_size is not None and not 0 < world_size <= size:
        remedy = singletons(size) or (
            how_to_start(world_size) + ". Or pass a communicator of that size as MPIRpcBackendOptions(comm=...)"
        )
        raise RuntimeError(
            f"init_rpc was given world_size={world_size}, but the MPI communicator has {size} ranks; {remedy}"
        )
    given = own if replaced() is None else int(os.environ["RANK"])  # a spare has a rank of the program and one of MPI
    if rank not in (-1, None) and rank not in (own, given):
        cause = singletons(size)
        raise RuntimeError(
            f"init_rpc was given rank={rank}, but this process is rank {own} of the MPI communicator"
            + (f"; {cause}" if cause else f". {how_to_start(None)}" if size == 1 else "")
        )
    if world_size is not None:
        refuse("init_rpc", world_size, own)


def _leave_at_exit() -> None:
    """Runs at exit: stop the agent, if `shutdown` was not called, as `shutdown(graceful=False)` does."""
    before = guard.enter()
    try:
        agent = current.current.agent
        if agent is not None:
            current.set_agent(None)
            stop(agent, clean=False)
        drain_dynamic_groups()
    finally:
        guard.leave(before)
