"""Loaders with workers: threads that make batches ahead."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import mpigrad
from mpigrad.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info
from tests.support.eventually import eventually


class Slow(Dataset[int]):
    """Items that take longer the earlier they are."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, index: int) -> int:
        time.sleep(0.002 * (9 - index))
        return index


class Span(IterableDataset[int]):
    def __init__(self, end: int) -> None:
        self.start, self.end = 0, end

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.end))


def share(worker: int) -> None:
    """Leave each worker its part of a span."""
    info = get_worker_info()
    assert info is not None and info.id == worker
    part = info.dataset.end // info.num_workers
    info.dataset.start, info.dataset.end = worker * part, (worker + 1) * part


def lists(loader: Any) -> list[Any]:
    return [batch.tolist() for batch in loader]


def ours() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("mpigrad-loader")]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("arguments", [{}, {"batch_size": 2}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}])
def test_batches_come_in_order(workers: int, arguments: dict[str, Any]) -> None:
    loader = DataLoader(Slow(), num_workers=workers, **arguments)
    expected = list(DataLoader(Slow(), **arguments))
    for _ in range(2):  # every pass has workers of its own
        found = list(loader)
        assert len(found) == len(expected) == len(loader)
        assert [mpigrad.as_tensor(each).tolist() for each in found] == [mpigrad.as_tensor(each).tolist() for each in expected]
    assert not ours()


def test_batches_come_as_they_are_ready() -> None:
    ready = threading.Event()

    class Held(Slow):
        def __getitem__(self, index: int) -> int:
            if index == 0:
                assert ready.wait(20)
            elif index == 1:
                ready.set()
            return index

    found = lists(DataLoader(Held(), num_workers=2, in_order=False))
    assert sorted(found) == [[i] for i in range(9)] and found[0] == [1]


def test_workers_run_ahead_but_not_far() -> None:
    asked: list[int] = []

    class Noted(Slow):
        def __getitem__(self, index: int) -> int:
            asked.append(index)
            return index

    batches = iter(DataLoader(Noted(), num_workers=2, prefetch_factor=2))
    next(batches)
    eventually(lambda: len(asked) >= 5)
    time.sleep(0.02)  # a sixth would come now
    assert sorted(asked) == [0, 1, 2, 3, 4]  # four ahead, and the one that was taken
    batches.close()  # type: ignore[attr-defined]
    assert not ours()


def test_an_iterable_data_set_has_a_copy_per_worker() -> None:
    data = Span(6)
    assert lists(DataLoader(data, batch_size=2, num_workers=3, worker_init_fn=share)) == [[0, 1], [2, 3], [4, 5]]
    assert (data.start, data.end) == (0, 6)
    assert lists(DataLoader(Span(3), num_workers=2)) == [[0], [0], [1], [1], [2], [2]]
    uneven = DataLoader(Span(5), batch_size=2, num_workers=2, drop_last=True)
    assert lists(uneven) == [[0, 1], [0, 1], [2, 3], [2, 3]]


def test_what_a_worker_knows() -> None:
    class Own(Slow):
        def __getitem__(self, index: int) -> Any:
            return tuple(get_worker_info() or ())[:3]

    mpigrad.manual_seed(3)
    first = [tuple(int(x) for x in row) for row in DataLoader(Own(), num_workers=3)]
    mpigrad.manual_seed(3)
    again = [tuple(int(x) for x in row) for row in DataLoader(Own(), num_workers=3)]
    assert [row[:2] for row in first] == [(i % 3, 3) for i in range(9)]
    assert first == again and len({row[2] for row in first}) == 3
    assert get_worker_info() is None


def test_errors_of_workers() -> None:
    class Bad(Slow):
        def __getitem__(self, index: int) -> int:
            if index == 4:
                raise KeyError("item four")
            return index

    found = []
    with pytest.raises(KeyError, match=r"Caught KeyError in DataLoader worker thread 0.*Original Traceback.*item four"):
        for batch in DataLoader(Bad(), num_workers=2):
            found.append(batch.item())
    assert found == [0, 1, 2, 3]
    assert not ours()

    def refuse(worker: int) -> None:
        raise OSError(f"worker {worker} will not")

    with pytest.raises(OSError, match="worker 0 will not"):
        list(DataLoader(Slow(), num_workers=2, worker_init_fn=refuse))


def test_a_worker_that_takes_too_long() -> None:
    hold = threading.Event()

    class Stuck(Slow):
        def __getitem__(self, index: int) -> int:
            hold.wait(20)
            return index

    batches = iter(DataLoader(Stuck(), num_workers=1, timeout=0.05))
    threading.Timer(0.5, hold.set).start()
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0.05 seconds"):
        next(batches)
    assert not ours()


def test_a_shuffled_pass_is_the_same_with_and_without_workers() -> None:
    data = TensorDataset(mpigrad.arange(20))

    def passes(workers: int) -> list[Any]:
        generator = mpigrad.Generator(mpigrad.get_default_device()).manual_seed(7)
        loader = DataLoader(data, batch_size=3, shuffle=True, generator=generator, num_workers=workers)
        return [[batch.tolist() for (batch,) in loader] for _ in range(2)]

    assert passes(0) == passes(2)
