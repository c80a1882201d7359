"""Transport over MPI that receives frames with matched probes, for MPI libraries whose receives hang if posted in advance.

Observed with MPICH 5.0.2 (wheel, ucx device) over TCP between two network namespaces, with plain mpi4py: a burst of 64 small
messages into 16 receives from ANY_SOURCE hangs after 16 to 23 messages, with persistent receives and with `Irecv`, every time.
The same program passes when the receives name their source, with `Improbe`, and with Open MPI. The likely cause, not proven: a
receive from ANY_SOURCE that is posted after its message has arrived is never matched. Within one host the ring of receives
passes its tests.
"""

from __future__ import annotations

from typing import Any

from mpigrad._core.rpc.mpi import MPITransport

from .._protocol.message import HEADER_SIZE


class ProbedTransport(MPITransport):
    """`MPITransport` without the ring of posted receives: it finds each frame by a matched probe."""

    def __init__(self, comm: Any, first_tag: int = 0) -> None:
        super().__init__(comm, first_tag)
        self._any, self._status = self._mpi.ANY_SOURCE, self._mpi.Status()

    def _open_ring(self) -> None:
        self._buffers, self._ring, self._at = [], [], 0

    def _take(self, tries: int) -> bytearray | None:
        while (message := self._comm.Improbe(self._any, self._frame_tag, self._status)) is None:
            tries -= 1
            if tries <= 0:
                return None
        frame = bytearray(self._status.Get_count(self._byte))
        message.Recv([frame, self._byte])
        return frame if len(frame) >= HEADER_SIZE else bytearray()
