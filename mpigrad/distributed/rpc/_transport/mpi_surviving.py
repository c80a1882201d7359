"""Transport over MPI that survives the loss of ranks: it notices them and reports each as a LOST frame, once.

With Open MPI's ULFM (`mpirun --with-ft ulfm`) the receives from any rank, which are always posted, raise
MPI_ERR_PROC_FAILED_PENDING once for each process that ends, 5 to 35 ms after its end; nothing needs to be asked meanwhile.
`Ack_failed` makes these receives usable again. Messages of other ranks keep their order. Small sends to a rank that has ended
complete silently; large ones raise.

Invariants
- A rank is added to `dead` once and stays there: nothing is sent to it any more, and its frames are dropped.
- `Ack_failed` comes before `Get_failed`: a failure between the two is reported again, never missed.
- Failures that others acknowledge (the agreement at the start, user code with the same communicator) raise nothing here, so
  heartbeats ask MPI now and then (`look_for_losses`).
- MPI sends each frame in one part (`survival.WHOLE`): when a sender dies, a frame has arrived completely or not at all.
- Memory that MPI or the other process may still use is kept: for good if the other process only stopped answering, and until
  MPI has completed the request, with an error, if it has ended.
"""

from __future__ import annotations

import logging
import time
from typing import Any

from mpigrad._core.rpc import mpi as base
from mpigrad._core.rpc.mpi import MPITransport, OfferReceive, OfferSend
from mpigrad._core.rpc.transport import FrameWithArrays, origin_of
from mpigrad._process.survival import survive
from mpigrad.distributed._mpi import failed_ranks

from .._protocol.lost import BY_MPI, lost_frame
from .mpi_probing import ProbedTransport

logger = logging.getLogger(__name__)


class SurvivingTransport(MPITransport):
    """`MPITransport` for jobs that go on when a rank is lost: reports each loss as a LOST frame instead of raising an error."""

    reports_losses = True

    def __init__(self, comm: Any, first_tag: int = 0, tags: int = 0) -> None:
        super().__init__(comm, first_tag)
        self._tags = tags - 1 if tags else self._tags  # the first one is that of frames
        self._asks = survive()  # whether MPI can be asked; otherwise losses come from heartbeats only

    def send_raised(self, dst: int, error: Exception) -> None:
        self._notice()
        if dst not in self.dead:
            raise error

    def poll_raised(self, error: Exception) -> None:
        if not self._notice() and not (self._asks and self._is_failure(error)):
            raise error

    def receive_raised(self, requests: list[Any], bulk: FrameWithArrays, error: Exception) -> None:
        self._notice()
        if origin_of(bulk)[0] not in self.dead:
            super().receive_raised(requests, bulk, error)
        else:
            self._drop_receive(requests, bulk, True)

    def completes(self, request: Any, limit: float) -> bool:
        while time.monotonic() < limit:
            try:
                return super().completes(request, limit)
            except self._mpi.Exception:
                if not self._asks:
                    raise
                self._comm.Ack_failed()
        return False

    def check_start(self) -> None:
        if self._asks:
            check_members(self._mpi, self._comm)

    def look_for_losses(self) -> None:
        """Report losses that MPI knows of and no receive has raised, as another part of the program acknowledged the failures."""
        self._notice()

    def _is_failure(self, error: Exception) -> bool:
        MPI = self._mpi
        codes = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING)
        return isinstance(error, MPI.Exception) and error.Get_error_class() in codes

    def _notice(self) -> bool:
        """Ask MPI which ranks have failed, and report new ones as LOST frames; returns whether there are any."""
        if not self._asks:
            return False
        self._comm.Ack_failed()
        new = [rank for rank in failed_ranks(self._mpi, self._comm) if rank not in self.dead]
        for rank in new:
            self.abandon(rank, True)
            life = self.epochs.get(rank, 0) if self.epochs else 0
            self._ready.append(bytearray(lost_frame(self.rank, rank, life, BY_MPI)))
        return bool(new)

    def abandon(self, rank: int, ended: bool) -> None:
        """End all transfers with a lost rank, and send it nothing from now on.

        `ended`: its process has ended, so that it cannot use any memory of this process any more.
        """
        if rank in self.dead:
            return
        self.dead.add(rank)
        self._queued.pop(rank, None)
        if ended:
            self._offers.reclaim(rank)
        for request, dst in list(self._sends):
            if dst == rank and isinstance(request, OfferSend):
                self._drop_offer(request, ended)
        left = [entry for entry in self._coming if origin_of(entry[1])[0] == rank]
        self._coming = [entry for entry in self._coming if origin_of(entry[1])[0] != rank]
        for requests, bulk, _ in left:
            self._drop_receive(requests, bulk, ended)

    def world_rank(self, rank: int) -> int:
        members, world = self._comm.Get_group(), self._mpi.COMM_WORLD.Get_group()
        try:
            return int(self._mpi.Group.Translate_ranks(members, [rank], world)[0])
        finally:
            members.Free()
            world.Free()

    def _drop_offer(self, request: OfferSend, ended: bool) -> None:
        self._sends.remove((request, request.dst))
        self._ended(request.dst)
        if ended:
            request.withdraw()
        else:
            self._offers.out.pop(request.number, None)
            base._abandoned.append(request)  # with its slot, which is never used again

    def _drop_receive(self, requests: list[Any], bulk: FrameWithArrays, ended: bool) -> None:
        """Drop a message whose arrays will not come. Their memory is kept unless each request has completed with an error.

        `ended`: the sender's process has ended; otherwise it may still write to the memory, which is then kept for good.
        """
        done = ended
        for request in requests:
            if isinstance(request, OfferReceive):
                done = done and request._requests is None
                continue
            try:
                done = request.Test() and done
            except Exception:  # completed: the sender has ended
                continue
        if not done:
            base._abandoned.append((requests, bulk.followed))


class SurvivingProbedTransport(SurvivingTransport, ProbedTransport):
    """`ProbedTransport` for jobs that go on when a rank is lost."""


def check_members(MPI: Any, comm: Any) -> None:
    """Raise MPI's error for failed processes (ERR_PROC_FAILED) if a rank of the communicator has failed."""
    if failed_ranks(MPI, comm):
        raise MPI.Exception(MPI.ERR_PROC_FAILED)
