"""Transport over MPI that receives frames with matched probes, for MPI libraries whose pre-posted receives hang.

Observed with MPICH 5.0.2 (wheel, ucx device) over TCP between two network namespaces, with plain mpi4py: a burst of 64 small
messages into 16 receives from ANY_SOURCE hangs after 16 to 23 messages, with persistent receives and with `Irecv`, every time.
The same program passes when the receives name their source, with `Improbe`, and with Open MPI. The likely cause, not proven: a
receive from ANY_SOURCE that is posted after its message has arrived is never matched. Within one host the ring of receives
passes its tests.
"""

from __future__ import annotations

import logging
from typing import Any

from mpigrad._core.rpc.codec import transfers_of
from mpigrad._core.rpc.mpi import MPITransport

from .._protocol.message import HEADER_SIZE

logger = logging.getLogger(__name__)


class ProbedTransport(MPITransport):
    """`MPITransport` without the ring of receives: each frame is found by a matched probe."""

    def __init__(self, comm: Any, first_tag: int = 0) -> None:
        super().__init__(comm, first_tag)
        self._any, self._status = self._mpi.ANY_SOURCE, self._mpi.Status()

    def _open_ring(self) -> None:
        self._buffers, self._ring, self._at = [], [], 0

    def poll(self, tries: int) -> bytearray | None:
        if self._ready:
            return self._ready.popleft()
        if self._sends:
            self._recycle()
            if self._offers.out:
                tries = 1  # return soon: this process also helps to copy the arrays that it has offered
        if self._coming:
            self._complete_bulk()
            tries = 1  # return soon: large arrays are being received
        while (message := self._comm.Improbe(self._any, self._frame_tag, self._status)) is None:
            tries -= 1
            if tries <= 0:
                return self._ready.popleft() if self._ready else None
        frame = bytearray(self._status.Get_count(self._byte))
        message.Recv([frame, self._byte])
        self.bytes_received += len(frame)
        if len(frame) < HEADER_SIZE:
            logger.error("a message without a header was dropped")
            return None
        if transfers_of(frame):
            self._fetch(frame)
            self._complete_bulk()
            return self._ready.popleft() if self._ready else None
        return frame
