"""`World`: the ranks of a test job, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they need pytest
    from mpigrad.testing._ranks.channel import Channel
    from mpigrad.testing._ranks.verdicts import JointVerdicts


class World:
    """What a test on several ranks gets from the fixtures `rpc_world` and `mpi_world` (docs/guides/testing.md).

    `rank` is this rank, `world_size` the number of ranks.

    `barrier` and `gather` use a separate MPI communicator, not RPC, so they also work while RPC is not running; they raise
    an error if another rank's test has failed, instead of waiting for it.
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
        """The name of the worker on `rank`, under which `rpc_world` has started it; `rank` is taken modulo the number of
        ranks.
        """
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
        """Collect `value` from all ranks and return the list, in the order of ranks, on every rank. All ranks must call it."""
        if self._channel is None or self._verdicts is None:
            return [value]
        self._meetings += 1
        return self._channel.gather(f"meeting {self._meetings}", value, self._verdicts.raise_for_peers)

    def barrier(self) -> None:
        """Wait until all ranks have called it; an error is raised if the test has failed on another rank."""
        self.gather(None)
