"""Waiting for all ranks to call `init_rpc`, and saying which of them do not.

Duplicating the communicator waits for everybody and tells nobody who is missing. So a rank that has waited for HERE_AFTER
seconds tells the first ranks, the *witnesses*, that it is here; the first witness that is here itself writes a line after
SAY_AFTER seconds. When all have come, everybody learns who has sent such messages, and receives what is left of them: none stays
behind on the communicator, which is the user's.
"""

from __future__ import annotations

import time
from typing import Any

from mpigrad._core import guard
from mpigrad._core.rpc.mpi import wait_for
from mpigrad._process.logs import get_logger
from mpigrad.distributed._mpi import mpi, mpi_turn

WITNESSES = 8
HERE_AFTER, SAY_AFTER = 1.0, 5.0
LONGEST_LIST = 16
_WHAT = "the other ranks to call init_rpc"


class RollCall:
    """One rank's view of who is here. `meet` can be called again after an interrupt, and goes on where it was."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self._tag = (comm.Get_attr(mpi().TAG_UB) or 32767) // 2 - 1  # below those of dynamic groups
        self._began = time.monotonic()
        self._sent: list[Any] | None = None
        self._said = False
        self.here = {self.rank}
        self._told = bytearray(self.size)
        self._telling: Any = None
        self._receives: list[Any] | None = None
        with mpi_turn():
            self.duplicate, self._request = comm.Idup()

    def meet(self, deadline: float) -> None:
        """Wait until `duplicate`, a communicator for RPC alone, can be used; TimeoutError, which names the missing ranks."""
        nap = 20e-6
        while not self._ended(self._request):
            self.look()
            if time.monotonic() > deadline:
                raise TimeoutError(f"init_rpc has waited {time.monotonic() - self._began:.0f} s for {self._missing()}")
            time.sleep(nap)
            guard.deliver()
            nap = min(nap * 1.5, 1e-3)
        self._receive_the_rest(deadline)

    def look(self) -> None:
        """Tell the witnesses, take what others tell, write the line, each when its time has come."""
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
            return f"other ranks of {self.size}; the first ranks say which"
        missing = sorted(set(range(self.size)) - self.here)
        names = ", ".join(map(str, missing[:LONGEST_LIST])) + (", ..." if len(missing) > LONGEST_LIST else "")
        return (
            f"rank{'s' * (len(missing) > 1)} {names} of {self.size}. Have they ended, or do they wait for something else? "
            "Workers that come and go call init_rpc with dynamic=True; a world of some ranks gets their communicator, "
            "MPIRpcBackendOptions(comm=...)"
        )

    def _ended(self, request: Any) -> bool:
        with mpi_turn():
            return bool(request.Test())

    def _receive_the_rest(self, deadline: float) -> None:
        """Who has sent messages to the witnesses? Take those that are still on their way."""
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
