"""The lower limit for collectives.py: the same bytes by mpi4py's blocking collectives, in buffers that are allocated once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from benchmarks import crew
from benchmarks.programs import collectives

USES_RPC = False
comm = MPI.COMM_WORLD


def _repeated(call: Callable[..., object], *buffers: np.ndarray) -> Callable[[int], None]:
    def task(count: int) -> None:
        for _ in range(count):
            call(*buffers)

    return task


def _floats(number: int) -> np.ndarray:
    return np.full(number, 0, np.float32)  # written: an array of `zeros` that is only read is one shared page of memory


_small, _made = _floats(collectives.SMALL), _floats(collectives.SMALL)
collectives.TASKS.update(
    {f"all_reduce_{size}": _repeated(comm.Allreduce, _floats(size << 18), _floats(size << 18)) for size in collectives.MIB}
)
collectives.TASKS.update(
    small_sum=_repeated(comm.Allreduce, _small, _made),
    small_gather=_repeated(comm.Allgather, _small, _floats(collectives.SMALL * crew.WORLD)),
    small_exchange=_repeated(comm.Alltoall, _small, _made),
)

MEASURES, follow, dismiss = collectives.MEASURES, collectives.follow, collectives.dismiss
