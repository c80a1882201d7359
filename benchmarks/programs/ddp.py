"""Data parallel training on two ranks: a step of a model of 10 MB, and how much of slow communication a step hides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks import crew
from benchmarks.library import NAME, library, part
from benchmarks.timing import Sample

dist = part("distributed")
nn = part("nn")
optim = part("optim")

USES_RPC = False
BATCH, STEPS = 16, 4
LAYERS, WIDTH, DEEP_BATCH = 10, 512, 128  # of the model for overlap: ten layers of 1 MB

crew.meet()
library.manual_seed(crew.RANK)


def _layers(sizes: list[int]) -> Any:
    """A perceptron of these widths."""
    parts: list[Any] = []
    for before, after in zip(sizes, sizes[1:]):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


model = nn.parallel.DistributedDataParallel(_layers([784, 1024, 1024, 624]))  # 2.5 million float32: 10 MB
optimizer = optim.SGD(model.parameters(), lr=0.01)
batch, labels = library.randn(BATCH, 784), library.randint(0, 624, (BATCH,))


def _train(count: int) -> None:
    """Steps: forward, loss, backward with averaged gradients, update."""
    for _ in range(count):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()


class SlowLink:
    """Lets the reductions of a group take the time of a slow link: their bytes cross it one reduction after the other.

    It stands in for the group's communicator, and for the sums around a ring.
    """

    def __init__(self, group: Any) -> None:
        from mpigrad.distributed._process_group import collectives

        self.bytes_per_second, self._free = float("inf"), 0.0
        self._group, self._comm, self._ring_sum = group, group.comm, collectives.RingSum
        group.comm, collectives.RingSum = self, self._around_ring

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def Iallreduce(self, given: Any, made: Any, operation: Any) -> Any:
        """Start a reduction by MPI."""
        return self._carry(self._comm.Iallreduce(given, made, operation), made.nbytes)

    def _around_ring(self, group: Any, given: Any, made: Any, average: bool = False) -> Any:
        started = self._ring_sum(group, given, made, average)
        return self._carry(started, made.nbytes) if group is self._group else started

    def _carry(self, request: Any, size: int) -> Any:
        """Return a request whose `Test` is false until the link has carried so many bytes."""
        self._free = max(self._free, time.perf_counter()) + size / self.bytes_per_second
        return Delayed(request, self._free)


class Delayed:
    """A request that is complete at a given time at the earliest."""

    def __init__(self, request: Any, at: float) -> None:
        self._request, self._at = request, at

    def Test(self, status: Any = None) -> bool:
        """Whether the reduction is complete."""
        return bool(self._request.Test(status)) and time.perf_counter() >= self._at


def _deep() -> tuple[Any, SlowLink]:
    """A model of ten layers, whose reductions cross a slow link."""
    made = nn.parallel.DistributedDataParallel(_layers([WIDTH] * (LAYERS + 1)))
    return made, SlowLink(made.process_group)


deep, link = _deep() if NAME == "mpigrad" else (None, None)
deep_batch = library.randn(DEEP_BATCH, WIDTH)


def _compute(count: int) -> None:
    """Steps without communication."""
    assert deep is not None
    with deep.no_sync():
        for _ in range(count):
            deep.zero_grad()
            (deep(deep_batch) ** 2).mean().backward()


def _compute_and_average(count: int) -> None:
    """The same steps with averaged gradients."""
    assert deep is not None
    for _ in range(count):
        deep.zero_grad()
        (deep(deep_batch) ** 2).mean().backward()


def _set_bandwidth(kilobytes_per_second: int) -> None:
    assert link is not None
    link.bytes_per_second = kilobytes_per_second * 1e3


TASKS: dict[str, Callable[[int], object]] = {
    "step": _train, "compute": _compute, "both": _compute_and_average, "bandwidth": _set_bandwidth
}  # fmt: skip


def _step(seconds: float) -> Sample:
    """Seconds per step of the slower rank."""
    return crew.together(TASKS, "step", seconds, STEPS)


def _overlap(share: float) -> Callable[[float], Sample]:
    """The time of a step, divided by the longer of computation and communication, which lasts `share` times as long.

    Each turn times steps without communication, sets the speed of the link by them and times steps with communication at once:
    what else runs on the machine changes within seconds, and slows down both.
    """

    def turn() -> float:
        assert deep is not None
        alone = crew.once(TASKS, "compute", STEPS)
        size = sum(each.numel() * 4 for each in deep.parameters())
        crew.once(TASKS, "bandwidth", int(size / (share * alone) / 1e3))
        return crew.once(TASKS, "both", STEPS) / max(alone, share * alone)

    return lambda seconds: crew.repeat(turn, seconds, "x")


def follow() -> None:
    """Run the tasks on the other rank."""
    crew.follow(TASKS)


dismiss = crew.dismiss
MEASURES = {"step": _step, "overlap": _overlap(0.5), "overlap_slow": _overlap(3.0)}
