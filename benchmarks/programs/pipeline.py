"""A model of four layers as a pipeline: two workers with two layers each, four micro-batches, a distributed optimizer."""

from __future__ import annotations

from typing import Any

from benchmarks.library import library, part
from benchmarks.timing import Sample, repeat

rpc = part("distributed.rpc")
dist_autograd = part("distributed.autograd")
distributed_optim = part("distributed.optim")
nn = part("nn")
optim = part("optim")

WIDTH, BATCH, PARTS = 128, 64, 4
STAGES = ("worker1", "worker2")


class Stage(nn.Module):  # type: ignore[misc]
    """Two of the four layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU())

    def forward(self, x_rref: Any) -> Any:
        """Fetch the input from the previous stage, and run both layers."""
        return self.layers(x_rref.to_here())

    def parameter_rrefs(self) -> list[Any]:
        return [rpc.RRef(parameter) for parameter in self.parameters()]


class Pipeline:
    """Runs on rank 0; the stages are on their workers."""

    def __init__(self) -> None:
        self.stages = [rpc.remote(worker, Stage) for worker in STAGES]
        rrefs = [rref for stage in self.stages for rref in stage.rpc_sync().parameter_rrefs()]
        self.optimizer = distributed_optim.DistributedOptimizer(optim.SGD, rrefs, lr=0.01)
        self.input = library.ones(BATCH, WIDTH)

    def forward(self) -> Any:
        """Start all micro-batches at once, and wait for their results."""
        waiting = []
        for part_of_batch in self.input.split(BATCH // PARTS):
            x = rpc.RRef(part_of_batch)
            x = self.stages[0].remote().forward(x)
            waiting.append(self.stages[1].rpc_async().forward(x))
        return library.cat([future.wait() for future in waiting])

    def step(self) -> None:
        with dist_autograd.context() as context_id:
            loss = (self.forward() ** 2).mean()
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)


def step(seconds: float) -> Sample:
    """One step of training."""
    return repeat(Pipeline().step, seconds)


MEASURES = {"step": step}
