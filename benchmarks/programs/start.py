"""The start of a job: four ranks start, and each has answered a call before the job counts as ready."""

from __future__ import annotations

from benchmarks.library import part
from benchmarks.rank import rank_and_size

rpc = part("distributed.rpc")


def nothing() -> None:
    """The function of the first call."""


def first() -> None:
    """Runs on rank 0 before the job counts as ready."""
    for rank in range(1, rank_and_size()[1]):
        rpc.rpc_sync(f"worker{rank}", nothing)


MEASURES: dict[str, object] = {}  # the runner itself times the launch
