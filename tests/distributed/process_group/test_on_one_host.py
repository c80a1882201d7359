"""Sums of large arrays around a ring: the same as NumPy's, in place and not, several at once, on any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
import mpigrad.distributed.nn.functional as F
from mpigrad.distributed._process_group import on_one_host
from mpigrad.distributed._process_group.groups import world

ELEMENTS = 200_003  # not divisible by 2, 3 or 4


@pytest.fixture
def group(world) -> Iterator[Any]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


@pytest.fixture
def small_parts(monkeypatch) -> None:
    monkeypatch.setattr(on_one_host, "_SMALLEST_PART", 1 << 10)


def _numbers(rank: int, kind: str) -> np.ndarray:
    random = np.random.default_rng(rank)
    made = random.normal(size=ELEMENTS) * 100
    return (made + 1j * random.normal(size=ELEMENTS) if kind.startswith("complex") else made).astype(kind)


def _total(size: int, kind: str) -> np.ndarray:
    return sum(_numbers(rank, kind) for rank in range(size))  # type: ignore[return-value]


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "int64"])
def test_sum_in_place(group, small_parts, kind: str) -> None:
    x, before = mpigrad.tensor(_numbers(group.rank, kind)), world().sums
    dist.all_reduce(x)
    assert np.allclose(x.numpy(), _total(group.world_size, kind), rtol=1e-4, atol=1e-2)
    assert world().sums == before + (group.world_size > 1)
    every: list[Any] = [None] * group.world_size
    dist.all_gather_object(every, x.numpy().tobytes())
    assert len(set(every)) == 1  # the same bits on all ranks


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_average_and_gradient(group, small_parts) -> None:
    """A new tensor: the input keeps its elements."""
    x = mpigrad.tensor(_numbers(group.rank, "float64")).requires_grad_()
    made = F.all_reduce(x, dist.ReduceOp.AVG)
    assert np.allclose(made.detach().numpy(), _total(group.world_size, "float64") / group.world_size)
    assert np.array_equal(x.detach().numpy(), _numbers(group.rank, "float64"))
    weights = [_numbers(50 + rank, "float64") for rank in range(group.world_size)]
    (made * mpigrad.tensor(weights[group.rank])).sum().backward()
    assert np.allclose(x.grad.numpy(), sum(weights) / group.world_size)


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_several_at_once_beside_other_collectives(group, small_parts) -> None:
    tensors = [mpigrad.tensor(_numbers(group.rank, "float32")) * (place + 1) for place in range(3)]
    works = [dist.all_reduce(each, async_op=True) for each in tensors]
    one = mpigrad.ones(1)
    dist.all_reduce(one)
    for work in reversed(works):
        work.wait()
    assert one.item() == group.world_size
    for place, each in enumerate(tensors):
        assert np.allclose(each.numpy(), _total(group.world_size, "float32") * (place + 1), rtol=1e-3, atol=1e-2)


@pytest.mark.mpi(min_size=1)
@pytest.mark.host
def test_small_extreme_and_fixed_order_use_mpi(group) -> None:
    before = world().sums
    dist.all_reduce(mpigrad.ones(10))
    dist.all_reduce(mpigrad.ones(1 << 20), dist.ReduceOp.MAX)
    mpigrad.use_deterministic_algorithms(True)
    try:
        dist.all_reduce(mpigrad.ones(1 << 20))
    finally:
        mpigrad.use_deterministic_algorithms(False)
    assert world().sums == before
