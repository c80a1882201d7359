"""What instruments see of backward passes: pairs of points, also when a pass fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mpigrad.distributed.autograd as dist_autograd
from mpigrad._core.autograd import engine
from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from tests.support.in_memory import acting_as, world_in_memory

from ..functions import square
from .passes import leaf, settled


class Notes(Instrument):
    """Writes down each point of a backward pass, with the rank of its worker."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []
        self.open: set[Any] = set()

    def _note(self, point: str, worker: Any) -> None:
        self.seen.append((point, worker.worker_id))

    def before_roots(self, worker: Any) -> None:
        self._note("before_roots", worker)

    def after_roots(self, worker: Any) -> None:
        self._note("after_roots", worker)

    def reach_started(self, worker: Any, pass_id: int) -> None:
        self._note("reach_started", worker)
        self.open.add(pass_id)

    def reach_ended(self, worker: Any, pass_id: int) -> None:
        self._note("reach_ended", worker)
        self.open.remove(pass_id)

    def part_held(self, worker: Any, part: Any) -> None:
        self._note("part_held", worker)
        self.open.add(part)

    def part_done(self, worker: Any, part: Any) -> None:
        self._note("part_done", worker)
        self.open.remove(part)


@pytest.fixture
def agents():
    with world_in_memory(3, graceful=False, rpc_timeout=20) as made, acting_as(made[0]):
        yield made
        settled(made)


@pytest.fixture
def notes() -> Iterator[Notes]:
    made = Notes()
    INSTRUMENTS.add(made)
    yield made
    INSTRUMENTS.remove(made)


def test_a_pass_of_independent_parts(agents, notes) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        dist_autograd.backward(context_id, [square("worker1", a).sum()])
    assert notes.seen == [("before_roots", 0), ("after_roots", 0)]


def test_a_joined_part_of_which_all_gradients_arrive(agents, notes) -> None:
    """No reach phase: no worker but those on the way of the gradients gets a message."""
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        loss = (square("worker1", y) + square("worker2", y)).sum()
        for _ in range(3):
            dist_autograd.backward(context_id, [loss], retain_graph=True)
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [108.0, 216.0]
    points = [point for point, _ in notes.seen]
    assert points == ["before_roots", "after_roots", "part_held", "part_done"] * 3
    assert not notes.open


def test_a_pass_with_a_joined_part(agents, notes) -> None:
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        square("worker1", y)  # unused: its gradients will not come, which only the reach phase finds out
        dist_autograd.backward(context_id, [(square("worker1", y) + square("worker2", y)).sum()])
        assert dist_autograd.get_gradients(context_id)[a].tolist() == [36.0, 72.0]
    assert notes.seen[:2] == [("before_roots", 0), ("after_roots", 0)]
    points = [point for point, rank in notes.seen[2:] if rank == 0]
    assert points == ["part_held", "reach_started", "reach_ended", "part_done"]
    assert not notes.open


def test_a_pass_that_cannot_reach_its_workers(agents, notes, monkeypatch) -> None:
    def refused(*_: Any) -> Any:
        raise ConnectionError("no way to ask")

    monkeypatch.setattr(engine, "reach", refused)
    a = leaf(1.0, 2.0)
    with dist_autograd.context() as context_id:
        y = a * 3
        with pytest.raises(ConnectionError, match="no way to ask"):
            dist_autograd.backward(context_id, [(square("worker1", y) + y).sum()])
    settled(agents)
    assert sorted(point for point, _ in notes.seen) == [
        "after_roots", "before_roots", "part_done", "part_held", "reach_ended", "reach_started",
    ]  # fmt: skip
    assert not notes.open
