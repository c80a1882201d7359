"""Waits until all ranks have called `init_rpc`, and reports which ones have not.

Duplicating the communicator waits for all ranks but does not tell which are missing. So a rank that has waited for HERE_AFTER
seconds sends a message to the first ranks, the *witnesses*. After SAY_AFTER seconds the lowest rank that is present logs the
missing ranks. The messages go over the user's communicator and must not remain there: when all ranks are present, they exchange
who has sent such messages, and the witnesses receive the remaining ones.

In a job that survives deaths the communicator is not duplicated: Open MPI 5.0 crashes if a rank dies while others create a
communicator (a failure is reported to all communicators, also to one that is not complete yet). There the ranks agree on the
number of this start instead, which chooses the tags of the messages (`start.py`).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import Any

from mpigrad._core import guard
from mpigrad._core.rpc.mpi import wait_for
from mpigrad._process.logs import get_logger
from mpigrad.distributed._first_ranks import FOR_RPC, FirstRanks, meet_first
from mpigrad.distributed._mpi import mpi, mpi_turn

WITNESSES = 8
HERE_AFTER, SAY_AFTER = 1.0, 5.0
LONGEST_LIST = 16
_WHAT = "the other ranks to call init_rpc"
_starts = array("i", [0])  # of this process, or of another one that it has started with


class RollCall:
    """One rank's part in the roll call. If `meet` is interrupted, it can be called again and continues."""

    def __init__(self, comm: Any, size: int | None = None, check: Callable[[Any], None] | None = None) -> None:
        """Start to wait for the other ranks, without blocking.

        Args:
            comm: the communicator of the user.
            size: how many ranks must be present, counted from rank 0; all if not given.
            check: in a job that survives deaths, called with the communicator now and then while this rank waits; may raise
                an error to end the wait.
        """
        self._comm, self._check = comm, check
        self.rank, self.size = comm.Get_rank(), comm.Get_size() if size is None else size
        self._tag = (comm.Get_attr(mpi().TAG_UB) or 32767) // 2 - 1  # below the tags of dynamic worlds
        self._began = time.monotonic()
        self._sent: list[Any] | None = None
        self._said = False
        self.here = {self.rank}
        self._told = bytearray(self.size)
        self._telling: Any = None
        self._receives: list[Any] | None = None
        self.duplicate: Any = None
        self._request: Any = None
        self._own, self._number = array("i", _starts), array("i", [0])
        if self.size < comm.Get_size():
            self._request = meet_first(comm, self.size, FOR_RPC)
        elif check is not None:
            with mpi_turn():
                self.duplicate, self._request = comm, comm.Iallreduce(self._own, self._number, mpi().MAX)
        else:
            with mpi_turn():
                self.duplicate, self._request = comm.Idup()

    def meet(self, deadline: float) -> None:
        """Wait until all ranks are present; TimeoutError, with the missing ranks, after the deadline.

        Afterwards `duplicate` is usable: the private communicator, or that of the user if `shares`.
        """
        nap = 20e-6
        while not self._ended(self._request):
            self.look()
            if self._check is not None:
                self._check(self._comm)
            if time.monotonic() > deadline:
                raise TimeoutError(f"init_rpc has waited {time.monotonic() - self._began:.0f} s for {self._missing()}")
            time.sleep(nap)
            guard.deliver()
            nap = min(nap * 1.5, 1e-3)
        if isinstance(self._request, FirstRanks):
            self.duplicate = self._request.comm
        if self.shares:
            _starts[0] = max(_starts[0], self.number + 1)
        self._receive_the_rest(deadline)

    @property
    def shares(self) -> bool:
        """Whether `duplicate` is the communicator of the user, in a job that survives deaths."""
        return self.duplicate is self._comm

    @property
    def number(self) -> int:
        """The number of this start, the same on all ranks, if `shares`: no earlier start of these ranks had it."""
        return self._number[0]

    def look(self) -> None:
        """Do what is due after the time waited so far: tell the witnesses, receive such messages, log the missing ranks."""
        waited = time.monotonic() - self._began
        if waited < HERE_AFTER or self.size == 1:
            return
        if self._sent is None:
            with mpi_turn():
                others = [rank for rank in range(min(WITNESSES, self.size)) if rank != self.rank]
                self._sent = [self._comm.Isend([b"", mpi().BYTE], rank, self._tag) for rank in others]
        if self.rank < WITNESSES:
            self._take()
        if waited > SAY_AFTER and not self._said:
            self._said = True
            if self.rank == min(self.here):
                get_logger("rpc").warning("init_rpc has waited %.0f s for %s", waited, self._missing())

    def _take(self) -> None:
        MPI = mpi()
        status = MPI.Status()
        with mpi_turn():
            while self._comm.Iprobe(MPI.ANY_SOURCE, self._tag, status):
                self._comm.Recv([bytearray(), MPI.BYTE], status.Get_source(), self._tag)
                self.here.add(status.Get_source())

    def _missing(self) -> str:
        if self.rank >= WITNESSES:
            return f"other ranks of {self.size}; the logs of the first ranks name them"
        missing = sorted(set(range(self.size)) - self.here)
        names = ", ".join(map(str, missing[:LONGEST_LIST])) + (", ..." if len(missing) > LONGEST_LIST else "")
        return (
            f"rank{'s' * (len(missing) > 1)} {names} of {self.size}. Have they ended, or are they waiting for something else? "
            "If workers join and leave, pass dynamic=True; for a world of the first n ranks pass world_size=n; for one of other "
            "ranks pass their communicator, MPIRpcBackendOptions(comm=...)"
        )

    def _ended(self, request: Any) -> bool:
        with mpi_turn():
            return bool(request.Test())

    def _receive_the_rest(self, deadline: float) -> None:
        """Exchange which ranks have sent messages to the witnesses, and receive those that are still in flight."""
        MPI = mpi()
        if self._telling is None:
            with mpi_turn():
                own = bytes([self._sent is not None])
                self._telling = self.duplicate.Iallgather([own, MPI.BYTE], [self._told, 1, MPI.BYTE])
        wait_for(self._telling, deadline, _WHAT)
        if self._receives is None:
            late = [rank for rank in range(self.size) if self._told[rank] and rank not in self.here and self.rank < WITNESSES]
            with mpi_turn():
                self._receives = [self._comm.Irecv([bytearray(), MPI.BYTE], rank, self._tag) for rank in late]
        for request in (*self._receives, *(self._sent or ())):
            wait_for(request, deadline, _WHAT)
