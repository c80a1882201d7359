"""The transport of a simulated worker: its frames become events at their receivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._core.rpc.transport import Transport, copied
from mpigrad.testing.simulation._progress import SimulatedProgress

if TYPE_CHECKING:
    from mpigrad.testing.simulation._world import Simulation


class SimulatedTransport(Transport):
    """One rank of a simulation."""

    make_progress = SimulatedProgress  # without threads: the scheduler runs the work of all agents

    def __init__(self, world: Simulation, rank: int) -> None:
        self.world, self.rank, self.size = world, rank, world.size
        self.closed = False

    def send(self, dst: int, frame: bytes, follow: list[Any], tag: int) -> None:
        if not 0 <= dst < self.size:
            raise ValueError(f"rank {dst} is not one of {self.size}")
        self.world.send(self.rank, dst, copied(frame, follow), len(frame) + sum(array.nbytes for array in follow))

    def deliver(self, receive: Callable[[Any], None], message: bytearray) -> None:
        """Hand a message that has arrived to the agent, unless this rank has left."""
        if not self.closed:
            receive(message)

    def poll(self, tries: int) -> bytearray | None:
        return None  # messages are delivered by events

    def pending(self) -> bool:
        return False

    def unsent(self) -> int:
        return 0

    def allgather(self, data: bytes, deadline: float) -> list[bytes]:
        raise NotImplementedError("simulated workers know each other from the start")

    def close(self, clean: bool) -> None:
        self.closed = True
