"""Data sets, samplers and loaders."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)


class Squares(Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < 10:
            raise IndexError(index)
        return index * index


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))


def lists(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def test_batches() -> None:
    assert lists(DataLoader(Squares(), batch_size=4)) == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert lists(DataLoader(Squares(), batch_size=4, drop_last=True)) == [[0, 1, 4, 9], [16, 25, 36, 49]]
    assert len(DataLoader(Squares(), batch_size=4)) == 3
    assert list(DataLoader(Squares(), batch_size=None))[:3] == [0, 1, 4]
    assert lists(DataLoader(Squares(), sampler=[3, 1])) == [[9], [1]]
    assert lists(DataLoader(Squares(), batch_sampler=[[3, 1], [2]])) == [[9, 1], [4]]
    assert lists(DataLoader(Stream(), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert list(DataLoader(Squares(), batch_size=5, collate_fn=sum)) == [30, 255]


def test_shuffling_takes_each_once_and_follows_the_generator() -> None:
    seen = []
    for _ in range(2):
        generator = mpigrad.Generator(mpigrad.get_default_device()).manual_seed(3)
        loader = DataLoader(Squares(), batch_size=3, shuffle=True, generator=generator)
        seen.append([sum(lists(loader), []), sum(lists(loader), [])])
    assert seen[0] == seen[1]
    first, second = seen[0]
    assert sorted(first) == sorted(second) == [i * i for i in range(10)] and first != second


def test_collating_by_kind() -> None:
    Pair = namedtuple("Pair", "x y")
    made = default_collate(
        [{"a": Pair(1, 2.0), "b": "s", "c": np.ones(2, "f4")}, {"a": Pair(3, 4.0), "b": "t", "c": np.zeros(2, "f4")}]
    )
    assert made["a"].x.tolist() == [1, 3] and made["a"].y.dtype is mpigrad.float64
    assert made["b"] == ["s", "t"]
    assert made["c"].dtype is mpigrad.float32 and made["c"].tolist() == [[1, 1], [0, 0]]
    assert [each.tolist() for each in default_collate([(1, 2), (3, 4)])] == [[1, 3], [2, 4]]
    with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_datasets_made_of_others() -> None:
    tensors = TensorDataset(mpigrad.arange(4), mpigrad.arange(4) * 2)
    assert [each.item() for each in tensors[3]] == [3, 6] and len(tensors) == 4
    both = Squares() + Squares()
    assert isinstance(both, ConcatDataset) and len(both) == 20 and both[13] == 9 and both[-1] == 81
    assert [Subset(Squares(), [5, 2])[i] for i in range(2)] == [25, 4]
    assert StackDataset(a=Squares(), b=Squares())[2] == {"a": 4, "b": 4}
    assert lists(DataLoader(Stream() + Stream(), batch_size=4)) == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(mpigrad.zeros(2), mpigrad.zeros(3))


def test_random_split() -> None:
    parts = random_split(Squares(), [0.35, 0.65], generator=mpigrad.Generator(mpigrad.get_default_device()).manual_seed(0))
    assert [len(part) for part in parts] == [4, 6]
    assert sorted(part[i] for part in parts for i in range(len(part))) == [i * i for i in range(10)]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(Squares(), [3, 3])


def test_samplers() -> None:
    assert len(list(RandomSampler(range(3), num_samples=8))) == 8
    assert set(RandomSampler(range(3), replacement=True, num_samples=50)) == {0, 1, 2}
    assert sorted(SubsetRandomSampler([4, 5, 6])) == [4, 5, 6]
    assert list(WeightedRandomSampler([0.0, 1.0], 3)) == [1, 1, 1]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("drop_last", "count"), [(False, 4), (True, 3)])
def test_ranks_share_a_dataset(drop_last: bool, count: int) -> None:
    def shares(epoch: int) -> list[list[int]]:
        made = [DistributedSampler(range(10), 3, rank, drop_last=drop_last) for rank in range(3)]
        for each in made:
            each.set_epoch(epoch)
        return [list(each) for each in made]

    first = shares(0)
    assert (
        [len(each) for each in first]
        == [count] * 3
        == [len(DistributedSampler(range(10), 3, 0, drop_last=drop_last))] * 3
    )
    everything = sum(first, [])
    assert len(set(everything)) == (9 if drop_last else 10)
    assert first == shares(0) != shares(1)
    with pytest.raises(ValueError, match="Invalid rank 3"):
        DistributedSampler(range(10), 3, 3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"shuffle": True, "sampler": [1]}, "mutually exclusive with shuffle"),
        ({"batch_sampler": [[1]], "drop_last": True}, "mutually exclusive"),
        ({"prefetch_factor": 2}, "let num_workers > 0"),
        ({"persistent_workers": True}, "needs num_workers > 0"),
        ({"num_workers": -1}, "non-negative"),
        ({"batch_size": None, "drop_last": True}, "disables auto-batching"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DataLoader(Squares(), **arguments)
