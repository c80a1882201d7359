"""From nothing to work: four ranks start, and every one has answered a call before the job says that it is ready."""

from __future__ import annotations

from benchmarks.library import part
from benchmarks.rank import rank_and_size

rpc = part("distributed.rpc")


def nothing() -> None:
    """What the first call runs."""


def first() -> None:
    """Runs on rank 0 before the job counts as ready."""
    for rank in range(1, rank_and_size()[1]):
        rpc.rpc_sync(f"worker{rank}", nothing)


MEASURES: dict[str, object] = {}  # the runner itself times the launch
