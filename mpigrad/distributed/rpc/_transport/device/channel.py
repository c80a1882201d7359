"""The messages of one transfer between two ranks: one peer, one tag."""

from __future__ import annotations

from typing import Any


class Channel:
    """Where the pieces of a transfer go, or come from."""

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
        """The next piece, matched, if it has come."""
        return self._comm.Improbe(self._peer, self._tag)

    def receive_matched(self, message: Any, buffer: Any) -> Any:
        """Start receiving a piece that has come."""
        return message.Irecv([buffer, self._byte])

    def send_memory(self, address: int, nbytes: int) -> Any:
        """Start sending from an address, which may be on a GPU."""
        return self.send(self._mpi.memory.fromaddress(address, nbytes, readonly=True))

    def receive_memory(self, address: int, nbytes: int) -> Any:
        """Start receiving at an address, which may be on a GPU."""
        return self.receive(self._mpi.memory.fromaddress(address, nbytes))

    def test_all(self, requests: list[Any]) -> bool:
        """Whether all of them are over."""
        return bool(self._mpi.Request.Testall(requests))
