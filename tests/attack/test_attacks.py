"""A few seconds of each attack."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from . import interrupts


@pytest.fixture
def attack() -> Iterator[interrupts.Attack]:
    before = signal.getsignal(signal.SIGALRM)
    yield interrupts.Attack(seed=1)
    signal.signal(signal.SIGALRM, before)


def test_interrupts_on_one_rank(attack) -> None:
    for _ in range(3):
        interrupts.one_life(attack, 0, 1, everybody=True, actions=4)


@pytest.mark.mpi(min_size=2)
@pytest.mark.deadline(150)  # interrupted ranks that share a core go on slowly
def test_interrupts(attack, world) -> None:
    for _ in range(2):
        interrupts.one_life(attack, world.rank, world.world_size, everybody=True, actions=5)
        world.barrier()
