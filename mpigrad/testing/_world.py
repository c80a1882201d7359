"""`World`: the ranks of a test job, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they need pytest
    from mpigrad.testing._ranks.channel import Channel
    from mpigrad.testing._ranks.verdicts import JointVerdicts


class World:
    """This rank and the others, as a test sees them: ranks, names of workers, and collective functions that cannot hang.

    The fixtures `rpc_world` and `mpi_world` of the pytest plugin return it. `barrier` and `gather` use a separate MPI
    communicator, not RPC, so they also work while RPC is not running; they raise an error if another rank's test has failed.
    """

    def __init__(self, channel: Channel | None, verdicts: JointVerdicts | None) -> None:
        self._channel = channel
        self._verdicts = verdicts
        self._meetings = 0
        self.rank: int = channel.rank if channel else 0
        self.world_size: int = channel.size if channel else 1

    def __repr__(self) -> str:
        return f"<World: rank {self.rank} of {self.world_size}>"

    def worker(self, rank: int) -> str:
        """The name of the worker on a rank, as `rpc_world` starts it; ranks beyond the last one count from 0 again."""
        return f"worker{rank % self.world_size}"

    @property
    def name(self) -> str:
        """The name of this rank's worker."""
        return self.worker(self.rank)

    @property
    def next_rank(self) -> int:
        """The next rank; for the last rank, rank 0."""
        return (self.rank + 1) % self.world_size

    @property
    def next_name(self) -> str:
        """The name of the next rank's worker, for calls to a neighbour."""
        return self.worker(self.next_rank)

    def gather(self, value: Any) -> list[Any]:
        """The values that all ranks give, as a list in the order of ranks; all ranks must call it equally often."""
        if self._channel is None or self._verdicts is None:
            return [value]
        self._meetings += 1
        return self._channel.gather(f"meeting {self._meetings}", value, self._verdicts.raise_for_peers)

    def barrier(self) -> None:
        """Wait until all ranks have called it."""
        self.gather(None)
