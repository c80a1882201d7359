"""What several streams use: memory that goes back behind its last use, and locks that hold for the work of GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mpigrad as T
from mpigrad import cuda
from mpigrad._array import device_pool
from mpigrad.distributed.optim._turns import Turns

LENGTH = 5000


@pytest.fixture(params=["cuda:0", "cuda:1"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param
    cuda.synchronize(request.param)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_memory_that_another_stream_frees(place: str, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a handler made is read and freed by the backward pass; the handler's stream gets the memory back at once."""
    monkeypatch.setattr(device_pool._Order, "wanted", True)
    maker, reader = cuda.Stream(place), cuda.Stream(place)
    with cuda.stream(maker):
        x = T.full((LENGTH,), 1.0, device=place)
        address = x.data_ptr()
    reader.wait_stream(maker)
    with cuda.stream(reader):
        y = x * 2
        with cuda.device(0 if elsewhere else place):  # the current device need not be that of the memory
            del x
    with cuda.stream(maker):
        z = T.full((LENGTH,), -1.0, device=place)
    assert z.data_ptr() == address
    maker.synchronize()
    with cuda.stream(reader):
        assert y[0].item() == y[-1].item() == 2


def test_memory_of_one_stream_costs_no_waiting(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_pool._Order, "wanted", True)
    waits = []
    monkeypatch.setattr(cuda.streams.seam.cupy().cuda.Stream, "wait_event", lambda self, event: waits.append(event))
    before = cuda.memory_allocated(place)
    x = T.ones(LENGTH, device=place)
    assert cuda.memory_allocated(place) >= before + 4 * LENGTH
    del x
    assert cuda.memory_allocated(place) == before and not waits


def test_turns(place: str) -> None:
    turns, x = Turns(), T.zeros(LENGTH, device=place)
    cuda.synchronize(place)
    streams = [cuda.Stream(place) for _ in range(3)]
    for number, stream in enumerate(streams):
        with cuda.stream(stream), turns.taken([x.device, T.device("cpu")]):
            x.mul_(10).add_(number + 1)
    with cuda.stream(streams[-1]):
        assert x[0].item() == x[-1].item() == 123


def test_turns_are_a_lock() -> None:
    turns = Turns()
    with turns.taken([]):
        assert turns._lock.locked()
    assert not turns._lock.locked()
