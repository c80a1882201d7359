"""Collectives on two ranks: sums of large tensors, and what a small differentiable collective costs beyond the raw one."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import crew
from benchmarks.library import library, part
from benchmarks.timing import Sample

dist = part("distributed")
functional = part("distributed.nn.functional")

USES_RPC = False
MIB = (1, 16, 64)
SMALL = 4  # elements
COUNTS = {1: 20, 16: 3, 64: 1, "small": 200}

crew.meet()
small = library.ones(SMALL, requires_grad=True)
blocks = [library.empty(SMALL) for _ in range(crew.WORLD)]


def _sum_of(mebibytes: int) -> Callable[[int], None]:
    tensor = library.zeros(mebibytes << 18)

    def task(count: int) -> None:
        for _ in range(count):
            dist.all_reduce(tensor)

    return task


def _small_sum(count: int) -> None:
    """A sum that is recorded."""
    for _ in range(count):
        functional.all_reduce(small)


def _small_gather(count: int) -> None:
    for _ in range(count):
        functional.all_gather(small)


def _small_exchange(count: int) -> None:
    """An `all_to_all_single` that is recorded."""
    for _ in range(count):
        functional.all_to_all_single(blocks[0], small)


TASKS: dict[str, Callable[[int], object]] = {
    **{f"all_reduce_{size}": _sum_of(size) for size in MIB},
    "small_sum": _small_sum,
    "small_gather": _small_gather,
    "small_exchange": _small_exchange,
}


def _measure(name: str) -> Callable[[float], Sample]:
    count = COUNTS[int(name.rsplit("_", 1)[1]) if name.startswith("all_reduce") else "small"]
    return lambda seconds: crew.together(TASKS, name, seconds, count)


def follow() -> None:
    """Run the tasks on the other rank."""
    crew.follow(TASKS)


dismiss = crew.dismiss
MEASURES = {name: _measure(name) for name in TASKS}
