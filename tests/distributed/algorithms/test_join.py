"""`Join`: loops of different lengths with a model, a divided optimizer and objects of users."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import mpigrad
import mpigrad.distributed as dist
from mpigrad import nn, optim
from mpigrad.distributed.algorithms.join import Join, Joinable, JoinHook
from mpigrad.distributed.optim import ZeroRedundancyOptimizer
from mpigrad.nn.parallel import DistributedDataParallel as DDP


@pytest.fixture
def group(world) -> Iterator[Any]:
    dist.init_process_group(rank=world.rank, world_size=world.world_size, timeout=timedelta(seconds=30))
    yield world
    dist.destroy_process_group()


class Counter(Joinable):
    """PyTorch's tutorial on uneven inputs: counts the inputs of all ranks."""

    def __init__(self, group: Any = None) -> None:
        super().__init__()
        self.group = dist.group.WORLD if group is None else group
        self.count = mpigrad.zeros(1)
        self.total = mpigrad.zeros(1)
        self.posts: list[bool] = []

    def __call__(self) -> None:
        Join.notify_join_context(self)
        one = mpigrad.ones(1)
        dist.all_reduce(one, group=self.group)
        self.count += one

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return CounterHook(self, kwargs.get("sync_max_count", False))

    @property
    def join_device(self) -> Any:
        return mpigrad.device("cpu")

    @property
    def join_process_group(self) -> Any:
        return self.group


class CounterHook(JoinHook):
    def __init__(self, counter: Counter, syncs: bool) -> None:
        self.counter, self.syncs = counter, syncs

    def main_hook(self) -> None:
        dist.all_reduce(mpigrad.zeros(1), group=self.counter.group)

    def post_hook(self, is_last_joiner: bool) -> None:
        self.counter.posts.append(is_last_joiner)
        if self.syncs:
            rank = mpigrad.tensor([dist.get_rank() if is_last_joiner else -1])
            dist.all_reduce(rank, op=dist.ReduceOp.MAX)
            self.counter.total = self.counter.count.clone()
            dist.broadcast(self.counter.total, src=int(rank.item()))


@pytest.mark.mpi(min_size=1)
def test_an_object_of_a_user(group) -> None:
    """Rank r has r + 2 inputs: it sees the inputs of all active ranks in each of its iterations."""
    counter, size = Counter(), group.world_size
    with Join([counter], sync_max_count=True):
        for _ in range(group.rank + 2):
            counter()
    assert counter.total.item() == sum(rank + 2 for rank in range(size))
    assert counter.posts == [group.rank == size - 1]
    counter()  # outside nothing is announced: all ranks call it once
    assert not counter._join_config.enable


@pytest.mark.mpi(min_size=1)
def test_two_objects_announce_once(group) -> None:
    one, other = Counter(), Counter()
    with Join([one, other], sync_max_count=True):
        for _ in range(2 * group.rank + 1):
            one()
            other()
    assert one.total.item() == other.total.item() == sum(2 * rank + 1 for rank in range(group.world_size))


def _batch(rank: int, step: int) -> mpigrad.Tensor:
    return mpigrad.tensor(np.random.default_rng([rank, step]).normal(size=(3, 4)), dtype=mpigrad.float32)


def _network() -> nn.Sequential:
    mpigrad.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))


@pytest.mark.mpi(min_size=1)
@pytest.mark.parametrize("by_initial", [True, False])
def test_a_model_and_a_divided_optimizer(group, by_initial: bool) -> None:
    """Parameters of ranks that have left are updated by them, from the averages of those that are active."""
    size, alone = group.world_size, _network()
    model = DDP(_network(), bucket_cap_mb=1e-4)
    ours = ZeroRedundancyOptimizer(model.parameters(), optim.Adam, lr=0.05)
    theirs = optim.Adam(alone.parameters(), lr=0.05)
    with Join([model, ours], divide_by_initial_world_size=by_initial):
        for step in range(2 * group.rank + 1):
            ours.zero_grad()
            (model(_batch(group.rank, step)) ** 2).mean().backward()
            ours.step()
    for step in range(2 * size - 1):
        left = [rank for rank in range(size) if step < 2 * rank + 1]
        theirs.zero_grad()
        total = sum((alone(_batch(rank, step)) ** 2).mean() for rank in left)
        (total / (size if by_initial else len(left))).backward()
        theirs.step()
    for mine, wanted in zip(model.parameters(), alone.parameters(), strict=True):
        assert np.allclose(mine.detach().numpy(), wanted.detach().numpy(), atol=1e-5)


@pytest.mark.mpi(min_size=2)
def test_all_ranks_end_with_the_first(group) -> None:
    counter = Counter()
    text = "Rank 0 exhausted all inputs" if group.rank == 0 else "Detected at least one rank that exhausted inputs"
    with pytest.raises(RuntimeError, match=text):
        with Join([counter], throw_on_early_termination=True):
            for _ in range(3 if group.rank else 1):
                counter()
    assert counter.count.item() == group.world_size


@pytest.mark.mpi(min_size=1)
def test_disabled_and_mistaken(group) -> None:
    counter = Counter()
    with Join([counter], enable=False):
        counter()
    assert counter.count.item() == group.world_size and counter.posts == []
    with pytest.raises(ValueError, match="requires at least one joinable"):
        Join([])
    with pytest.raises(ValueError, match="multiple process groups"):
        Join([counter, Counter(dist.new_group())])
    with pytest.raises(KeyError, match="from the loop"):
        with Join([counter]):
            raise KeyError("from the loop")
    assert not counter._join_config.enable

    class Unprepared:
        pass

    with pytest.raises(AssertionError, match="constructor"):
        Join.notify_join_context(Unprepared())  # type: ignore[arg-type]
