"""Pipelines: every schedule gives the losses and gradients of one process; orders have the bubbles of theory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn
from mpigrad.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
)
from mpigrad.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    _Replicate,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from mpigrad.distributed.pipelining.schedules import Action, bubble_fraction
from mpigrad.nn import functional as F

SINGLE = [ScheduleGPipe, Schedule1F1B]
SEVERAL = [ScheduleLoopedBFS, ScheduleInterleaved1F1B]


def stand_ins(ranks: int, each: int) -> list[SimpleNamespace]:
    """The stages of rank 0, for orders alone."""
    return [SimpleNamespace(stage_index=i * ranks, num_stages=ranks * each, group_size=ranks, group_rank=0) for i in range(each)]


def order_of(kind, ranks: int, each: int, chunks: int) -> dict[int, list[Action]]:
    stages = stand_ins(ranks, each)
    return kind(stages[0] if kind in SINGLE else stages, chunks).pipeline_order


@pytest.mark.parametrize("kind", SINGLE)
@pytest.mark.parametrize(("ranks", "chunks"), [(1, 3), (2, 4), (4, 4), (4, 8), (4, 2)])
def test_bubble_of_one_stage_per_rank(kind, ranks, chunks) -> None:
    found = bubble_fraction(order_of(kind, ranks, 1, chunks), ranks)
    assert found == pytest.approx((ranks - 1) / (chunks + ranks - 1))


@pytest.mark.parametrize("kind", SEVERAL)
@pytest.mark.parametrize(("ranks", "each", "chunks"), [(2, 2, 4), (4, 2, 8), (4, 3, 4), (2, 4, 6)])
def test_bubble_of_several_stages_per_rank(kind, ranks, each, chunks) -> None:
    found = bubble_fraction(order_of(kind, ranks, each, chunks), ranks * each)
    assert found == pytest.approx((ranks - 1) / (each * chunks + ranks - 1))


@pytest.mark.parametrize("kind", SINGLE + SEVERAL)
@pytest.mark.parametrize(("ranks", "chunks"), [(1, 1), (2, 3), (3, 5), (4, 10)])
def test_every_action_once_and_no_deadlock(kind, ranks, chunks) -> None:
    each = 1 if kind in SINGLE else 2
    if kind is ScheduleInterleaved1F1B and chunks % max(1, chunks // ranks):
        with pytest.raises(ValueError, match="multiple of the number of rounds"):
            order_of(kind, ranks, each, chunks)
        return
    order = order_of(kind, ranks, each, chunks)
    wanted = {Action(stage, way, chunk) for stage in range(ranks * each) for way in "FB" for chunk in range(chunks)}
    assert sorted(action for actions in order.values() for action in actions) == sorted(wanted)
    assert 0 <= bubble_fraction(order, ranks * each) < 1


def test_interleaved_order_is_that_of_pytorch() -> None:
    order = order_of(ScheduleInterleaved1F1B, 2, 2, 4)
    assert " ".join(map(repr, order[0])) == "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3"
    assert " ".join(map(repr, order[1])) == "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3"


def test_1f1b_keeps_few_micro_batches() -> None:
    for rank, actions in order_of(Schedule1F1B, 4, 1, 8).items():
        kept = most = 0
        for action in actions:
            kept += 1 if action.computation_type == "F" else -1
            most = max(most, kept)
        assert most == 4 - rank


def test_orders_that_wait_for_each_other() -> None:
    with pytest.raises(ValueError, match="never ends"):
        bubble_fraction({0: [Action(0, "B", 0), Action(0, "F", 0)]}, 1)


def test_micro_batches() -> None:
    given, named = (mpigrad.arange(6), "x"), {"m": mpigrad.ones(2, 4)}
    args, kwargs = split_args_kwargs_into_chunks(given, named, 2, None, {"m": TensorChunkSpec(1)})
    assert [each[0].tolist() for each in args] == [[0, 1, 2], [3, 4, 5]] and args[1][1] == "x"
    assert [tuple(each["m"].shape) for each in kwargs] == [(2, 2), (2, 2)]
    joined = merge_chunks([(mpigrad.ones(1, 2), mpigrad.tensor(1.0)), (mpigrad.ones(2, 2), mpigrad.tensor(2.0))])
    assert tuple(joined[0].shape) == (3, 2) and joined[1].tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="cannot be cut into 3 micro-batches"):
        split_args_kwargs_into_chunks((mpigrad.ones(2),), None, 3)


class Pair(NamedTuple):
    one: mpigrad.Tensor
    other: mpigrad.Tensor


def test_micro_batches_of_containers() -> None:
    """Tensors in containers are cut, too; as a whole with `_Replicate`."""
    x = mpigrad.arange(4)
    (args, _) = split_args_kwargs_into_chunks(([x, "s"], Pair(x, x), {"a": x}), None, 2)
    pair = args[1][1]
    assert args[1][0][0].tolist() == pair.other.tolist() == args[1][2]["a"].tolist() == [2, 3]
    assert args[0][0][1] == "s" and type(pair) is Pair
    args, kwargs = split_args_kwargs_into_chunks(
        ([x, x],), {"k": {"b": mpigrad.ones(1, 2)}}, 2, ([TensorChunkSpec(0), _Replicate],), {"k": {"b": TensorChunkSpec(1)}}
    )
    assert args[1][0][0].tolist() == [2, 3] and args[1][0][1] is x and kwargs[0]["k"]["b"].tolist() == [[1.0]]
    joined = merge_chunks([OrderedDict(p=Pair(x, x)), OrderedDict(p=Pair(x, x))])
    assert type(joined) is OrderedDict and joined["p"].one.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_interleaved_stages_are_equally_many_on_all_ranks() -> None:
    with pytest.raises(ValueError, match="same number of stages on every rank, but there are 3 stages on 2 ranks"):
        ScheduleInterleaved1F1B([SimpleNamespace(stage_index=i, num_stages=3, group_size=2, group_rank=0) for i in (0, 2)], 4)


class Part(nn.Module):
    """A stage that passes on two tensors, one of integers."""

    def __init__(self, place: int, last: bool) -> None:
        super().__init__()
        mpigrad.manual_seed(place)
        self.layer, self.last = nn.Linear(6, 6).double(), last

    def forward(self, x, ids):
        y = mpigrad.tanh(self.layer(x)) + ids.reshape(-1, 1)
        return y if self.last else (y, ids)


def loss_fn(output, target):
    return F.mse_loss(output, target)


@pytest.fixture
def group(world) -> Iterator[object]:
    dist.init_process_group(timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


def alone(count: int, x, ids, target) -> tuple[float, list, mpigrad.Tensor]:
    """Loss, gradients of all parts and output of one process."""
    parts = [Part(place, place == count - 1) for place in range(count)]
    given = (x, ids)
    for part in parts:
        given = part(*given)
    loss = loss_fn(given, target)
    loss.backward()
    return loss.item(), [[p.grad for p in part.parameters()] for part in parts], given.detach()


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
@pytest.mark.parametrize("chunks", [4, 6])
@pytest.mark.parametrize("kind", SINGLE + SEVERAL)
def test_losses_and_gradients_of_one_process(group, kind, chunks) -> None:
    ranks = group.world_size
    if kind is ScheduleInterleaved1F1B and chunks % max(1, chunks // ranks):
        return
    each = 1 if kind in SINGLE else 2
    mpigrad.manual_seed(7)
    x, ids = mpigrad.randn(12, 6, dtype=mpigrad.float64), mpigrad.arange(12)
    target = mpigrad.randn(12, 6, dtype=mpigrad.float64)
    wanted, grads, result = alone(ranks * each, x, ids, target)
    own = range(group.rank, ranks * each, ranks)
    parts = [Part(place, place == ranks * each - 1) for place in own]
    stages = [PipelineStage(part, place, ranks * each, "cpu") for part, place in zip(parts, own)]
    schedule = kind(stages[0] if kind in SINGLE else stages, chunks, loss_fn=loss_fn)
    for _ in range(2):
        for part in parts:
            part.zero_grad()
        losses: list[mpigrad.Tensor] = []
        given = (x, ids) if group.rank == 0 else ()
        output = schedule.step(*given, target=target if group.rank == ranks - 1 else None, losses=losses)
        for part, place in zip(parts, own):
            for parameter, grad in zip(part.parameters(), grads[place]):
                assert mpigrad.allclose(parameter.grad, grad)
        if group.rank == ranks - 1:
            assert sum(each.item() for each in losses) / chunks == pytest.approx(wanted)
            assert mpigrad.allclose(output.detach(), result)
        else:
            assert output is None and losses == []
    result_of_eval = schedule.eval(*given)
    assert (result_of_eval is not None) == (group.rank == ranks - 1)
    with pytest.raises(RuntimeError, match="Please call eval"), mpigrad.no_grad():
        schedule.step(*given)


@pytest.mark.mpi(min_size=2)
@pytest.mark.host
@pytest.mark.parametrize("kind", ["bfloat16", "float16", "complex128"])
def test_types_that_pass_from_stage_to_stage(group, kind: str) -> None:
    ranks, chosen = group.world_size, getattr(mpigrad, kind)
    mpigrad.manual_seed(0)
    layers = [nn.Linear(3, 3).to(chosen) for _ in range(ranks)]
    x = mpigrad.ones(4, 3).to(chosen)
    wanted = nn.Sequential(*layers)(x)
    grads = mpigrad.autograd.grad(wanted.abs().sum(), layers[group.rank].weight)
    stage = PipelineStage(layers[group.rank], group.rank, ranks, "cpu")
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda output, _: output.abs().sum(), scale_grads=False)
    found = schedule.step(*([x] if group.rank == 0 else []), target=x if group.rank == ranks - 1 else None)
    assert found is None or found.dtype is chosen and mpigrad.allclose(found, wanted, rtol=1e-2)
    assert mpigrad.allclose(layers[group.rank].weight.grad, grads[0], rtol=0.05, atol=0.05)


@pytest.mark.mpi(min_size=1)
def test_wrong_stages(group) -> None:
    with pytest.raises(ValueError, match="Stage index 3 is out of range of 3"):
        PipelineStage(nn.Identity(), 3, 3)
    if group.world_size > 1:
        with pytest.raises(ValueError, match="cannot be larger than number of stages 1"):
            PipelineStage(nn.Identity(), 0, 1)
        wrong = PipelineStage(nn.Identity(), (group.rank + 1) % group.world_size, group.world_size)
        with pytest.raises(ValueError, match="must have the stages"):
            ScheduleGPipe(wrong, 2)
