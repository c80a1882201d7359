"""The ranks of a test job as a test sees them."""

from __future__ import annotations

from typing import Any

from tests.support.channel import Channel
from tests.support.verdicts import JointVerdicts


class World:
    """This rank among the others: names, neighbours, and meeting points that a failed rank cannot block.

    `barrier` and `gather` use a channel of their own, not RPC, and raise when another rank's test has failed.
    """

    def __init__(self, channel: Channel | None, verdicts: JointVerdicts | None) -> None:
        self._channel = channel
        self._verdicts = verdicts
        self._meetings = 0
        self.rank: int = channel.rank if channel else 0
        self.world_size: int = channel.size if channel else 1

    def worker(self, rank: int) -> str:
        """The name under which a rank is registered."""
        return f"worker{rank % self.world_size}"

    @property
    def name(self) -> str:
        return self.worker(self.rank)

    @property
    def next_rank(self) -> int:
        return (self.rank + 1) % self.world_size

    @property
    def next_name(self) -> str:
        return self.worker(self.next_rank)

    def gather(self, value: Any) -> list[Any]:
        """Every rank's value, in the order of ranks; all ranks must call it equally often."""
        if self._channel is None or self._verdicts is None:
            return [value]
        self._meetings += 1
        return self._channel.gather(f"meeting {self._meetings}", value, self._verdicts.raise_for_peers)

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.gather(None)
