"""Notice a launcher that has started N jobs of one rank instead of one job of N ranks."""

from __future__ import annotations

from mpigrad._logging import get_logger
from mpigrad._rank import launched_size

log = get_logger("launch")


def warn_of_singletons(world_size: int) -> bool:
    """Warn when the launcher has started several ranks but MPI sees one; whether it did."""
    started = launched_size()
    if world_size != 1 or started is None or started == 1:
        return False
    log.warning(
        "the launcher has started %d ranks, but MPI sees a world of one: it is not the launcher of mpi4py's MPI. With "
        "srun use --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH; `mpigrad doctor` shows more",
        started,
    )
    return True
