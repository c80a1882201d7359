"""Which contexts a worker accepts messages for: live ones, never released ones, in constant memory."""

from __future__ import annotations

import sys

import pytest

from mpigrad._core.autograd import contexts as _container
from mpigrad._core.autograd.contexts import CURRENT, Container


@pytest.fixture(autouse=True)
def no_context():
    yield
    CURRENT.context = None


def new(container: Container) -> int:
    """The id of a new context, which is not made this thread's."""
    made = container.new_context().context_id
    CURRENT.context = None
    return made


def remembered(container: Container) -> int:
    return sum(map(len, container._released.values()))


def tell(maker: Container, other: Container, context_id: int) -> None:
    """A release on the worker that made a context, and then on another one."""
    maker.drop(context_id)
    other.drop(context_id, maker.floor_of(context_id))


def test_messages_that_come_after_the_release_find_nothing() -> None:
    maker, other = Container(1), Container(2)
    first, second, third = (new(maker) for _ in range(3))
    assert other.get_or_create(first) is not None
    for context_id in (second, first, third):
        tell(maker, other, context_id)
    for context_id in (first, second, third):
        assert maker.get_or_create(context_id) is None
        assert other.get_or_create(context_id) is None
    assert not maker.contexts and not other.contexts
    assert other.get_or_create(new(maker)) is not None


def test_a_context_that_lives_is_taken_though_later_ones_were_released() -> None:
    maker, other = Container(1), Container(2)
    old = new(maker)
    for _ in range(10):
        tell(maker, other, new(maker))
    assert remembered(other) == 10
    assert other.get_or_create(old) is not None
    tell(maker, other, old)
    assert remembered(other) == 0
    assert all(other.get_or_create(context_id) is None for context_id in range(old, old + 11))


def test_releases_take_no_memory() -> None:
    maker, other = Container(1), Container(2)
    for _ in range(1000):
        tell(maker, other, new(maker))
    assert remembered(maker) == remembered(other) == 0
    assert maker._floors.keys() == {1} and other._floors.keys() == {1, 2}
    before = sys.getsizeof(other._released[1])
    for _ in range(5000):
        tell(maker, other, new(maker))
    assert sys.getsizeof(other._released[1]) == before


def test_one_context_that_lives_long_costs_bounded_memory(monkeypatch) -> None:
    monkeypatch.setattr(_container, "_REMEMBERED", 50)
    maker, other = Container(1), Container(2)
    old = new(maker)
    for _ in range(200):
        tell(maker, other, new(maker))
    assert remembered(other) == 50
    assert other.get_or_create(old) is not None


def test_a_third_worker_passes_on_what_it_knows() -> None:
    maker, other, third = Container(1), Container(2), Container(3)
    for _ in range(5):
        tell(maker, other, new(maker))
    last = new(maker)
    third.get_or_create(last)
    tell(maker, other, last)
    third.drop(last, other.floor_of(last))
    assert remembered(third) == 0
    assert third.get_or_create(last - 3) is None


def test_a_worker_that_comes_back_numbers_from_the_start() -> None:
    maker, other = Container(1), Container(2)
    context_id = new(maker)
    tell(maker, other, context_id)
    assert other.get_or_create(context_id) is None
    other.forget_maker(1)
    assert other.get_or_create(context_id) is not None
    assert other.made_by(1) == [context_id]
