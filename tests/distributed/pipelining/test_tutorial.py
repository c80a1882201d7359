"""The manual split of PyTorch's tutorial on pipelines, with `torch` spelled `mpigrad` and smaller numbers."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.nn as nn
from mpigrad.distributed.pipelining import PipelineStage, ScheduleGPipe


@dataclass
class ModelArgs:
    dim: int = 16
    n_layers: int = 4
    n_heads: int = 2
    vocab_size: int = 50


class Transformer(nn.Module):
    def __init__(self, model_args: ModelArgs) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(model_args.vocab_size, model_args.dim)
        self.layers = mpigrad.nn.ModuleDict()
        for layer_id in range(model_args.n_layers):
            self.layers[str(layer_id)] = nn.TransformerDecoderLayer(model_args.dim, model_args.n_heads, dropout=0.0)
        self.norm = nn.LayerNorm(model_args.dim)
        self.output = nn.Linear(model_args.dim, model_args.vocab_size)

    def forward(self, tokens: mpigrad.Tensor) -> mpigrad.Tensor:
        h = self.tok_embeddings(tokens) if self.tok_embeddings else tokens
        for layer in self.layers.values():
            h = layer(h, h)
        h = self.norm(h) if self.norm else h
        return self.output(h).clone() if self.output else h


def manual_model_split(model, stage_index, num_stages, device, group) -> PipelineStage:
    if stage_index == 0:
        for i in range(2, 4):
            del model.layers[str(i)]
        model.norm = None
        model.output = None
    elif stage_index == 1:
        for i in range(2):
            del model.layers[str(i)]
        model.tok_embeddings = None
    return PipelineStage(model, stage_index, num_stages, device, group=group)


def tokenwise_loss_fn(outputs, targets):
    return nn.CrossEntropyLoss()(outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1))


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
def test_the_tutorial(world) -> None:
    dist.init_process_group()
    rank = dist.get_rank()
    if rank < 2:
        group = dist.new_group([0, 1])
        mpigrad.manual_seed(0)
        model = Transformer(ModelArgs())
        x = mpigrad.ones(4, 6, dtype=mpigrad.long)
        y = mpigrad.randint(0, 50, (4, 6), dtype=mpigrad.long)
        wanted = tokenwise_loss_fn(model(x), y).item()
        schedule = ScheduleGPipe(
            manual_model_split(model, rank, 2, mpigrad.device("cpu"), group), n_microbatches=2, loss_fn=tokenwise_loss_fn
        )
        if rank == 0:
            schedule.step(x)
        else:
            losses: list[mpigrad.Tensor] = []
            output = schedule.step(target=y, losses=losses)
            assert tuple(output.shape) == (4, 6, 50)
            assert sum(each.item() for each in losses) / 2 == pytest.approx(wanted, rel=1e-4)
        assert all(parameter.grad is not None for parameter in model.parameters())
    dist.destroy_process_group()
