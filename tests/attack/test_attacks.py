"""A few seconds of each attack."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from . import interrupts, storm


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


@pytest.mark.deadline(150)
def test_everything_at_once_over_a_network_that_delays_messages() -> None:
    assert storm.in_memory(seed=3, seconds=0.7, size=3)


@pytest.mark.mpi(min_size=2)
@pytest.mark.deadline(150)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_everything_at_once(world) -> None:
    assert storm.static(world.rank, world.world_size, world.barrier, seed=4, seconds=0.7)
