"""Detects a launcher that has started N jobs of one rank instead of one job of N ranks."""

from __future__ import annotations

from mpigrad._process.logs import get_logger
from mpigrad._process.rank import singletons

log = get_logger("launch")


def warn_of_singletons(world_size: int) -> bool:
    """Warn if the launcher has started several ranks but MPI sees one; returns whether it warned."""
    problem = singletons(world_size)
    if problem is not None:
        log.warning("%s", problem)
    return problem is not None
