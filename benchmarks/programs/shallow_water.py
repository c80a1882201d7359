"""Ten steps of a shallow-water model on two ranks, forward and with the gradient, by mpigrad or by mpi4jax (see domain.py)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from benchmarks import crew, domain
from benchmarks.timing import Sample

USES_RPC = False
SIZES = (256, 1024)  # cells of a rank, in each direction

crew.meet()


@functools.cache
def _model(size: int) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    return domain.with_mpigrad(size) if sys.argv[2] == "mpigrad" else domain.with_jax(size, alone=False)


def _task(size: int, which: int) -> Callable[[int], None]:
    def task(count: int) -> None:
        for _ in range(count):
            _model(size)[which]()

    return task


TASKS: dict[str, Callable[[int], object]] = {
    f"{name}_{size}": _task(size, which) for size in SIZES for which, name in enumerate(("forward", "gradient"))
}


def _measure(name: str) -> Callable[[float], Sample]:
    return lambda seconds: crew.together(TASKS, name, seconds, 1)


def follow() -> None:
    """Run the tasks on the other rank."""
    crew.follow(TASKS)


dismiss = crew.dismiss
MEASURES = {name: _measure(name) for name in TASKS}
