"""`Channel`, the MPI calls of one transfer (an array or pack of arrays that follows a frame); and `RequestGroup`."""

from __future__ import annotations

from typing import Any


class Channel:
    """Sends or receives the pieces of one transfer: MPI calls with the rank `peer` and the tag `tag`.

    Used under the transport's lock. All methods that start something return its MPI request.
    """

    __slots__ = ("_byte", "_comm", "_mpi", "_peer", "_tag")

    def __init__(self, mpi: Any, comm: Any, peer: int, tag: int) -> None:
        self._mpi, self._comm, self._byte, self._peer, self._tag = mpi, comm, mpi.BYTE, peer, tag

    def send(self, buffer: Any) -> Any:
        """Start sending host memory."""
        return self._comm.Isend([buffer, self._byte], self._peer, self._tag)

    def receive(self, buffer: Any) -> Any:
        """Start receiving into host memory."""
        return self._comm.Irecv([buffer, self._byte], self._peer, self._tag)

    def probe(self) -> Any:
        """Return a matched probe (an MPI message) for the next piece; None if it has not arrived."""
        return self._comm.Improbe(self._peer, self._tag)

    def receive_matched(self, message: Any, buffer: Any) -> Any:
        """Start receiving a piece that `probe` has matched."""
        return message.Irecv([buffer, self._byte])

    def send_memory(self, address: int, nbytes: int) -> Any:
        """Start sending `nbytes` from an address, which may be on a GPU."""
        return self.send(self._mpi.memory.fromaddress(address, nbytes, readonly=True))

    def receive_memory(self, address: int, nbytes: int) -> Any:
        """Start receiving `nbytes` at an address, which may be on a GPU."""
        return self.receive(self._mpi.memory.fromaddress(address, nbytes))

    def test_all(self, requests: list[Any]) -> bool:
        """Return whether all requests have completed; never blocks."""
        return bool(self._mpi.Request.Testall(requests))


class RequestGroup:
    """Several requests that are tested as one; they need not be requests of MPI, only have a method `Test`."""

    def __init__(self, requests: list[Any]) -> None:
        self._requests = requests

    def Test(self) -> bool:
        """Return whether all requests have completed; never blocks."""
        self._requests = [each for each in self._requests if not each.Test()]
        return not self._requests
