"""Loops over rows in C: the sums of NumPy, bit by bit, or False without doing anything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpigrad
from mpigrad._array.sparse.array import SparseArray
from mpigrad._core import loops
from mpigrad._kernels.runs import sums_of_bags
from mpigrad.optim._rows import add_to_rows

COMPILED = not loops.__file__.endswith(".py")
pytestmark = pytest.mark.host


def numbers(*shape: int, kind: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(kind)


@st.composite
def bags(draw):
    rows = draw(st.integers(1, 30))
    shape = (rows, *draw(st.lists(st.integers(1, 20), min_size=0, max_size=2)))
    lengths = np.array(draw(st.lists(st.integers(0, 40), min_size=1, max_size=8)))
    count = max(draw(st.integers(0, 60)), int(lengths.max()))
    places = np.array(draw(st.lists(st.integers(0, rows - 1), min_size=count, max_size=count)), np.int64)
    starts = np.array([draw(st.integers(0, places.size - int(length))) for length in lengths])
    return numbers(*shape, kind=draw(st.sampled_from(["f4", "f8"]))), places, starts, lengths


@settings(deadline=None)
@given(bags())
def test_sums_of_bags(each) -> None:
    table, places, starts, lengths = each
    made = np.full((lengths.size, *table.shape[1:]), 7, table.dtype)
    assert loops.sum_bags(table, places, starts, lengths, made) == COMPILED
    wanted = np.zeros_like(made)
    for bag, (start, length) in enumerate(zip(starts, lengths)):
        for place in places[start : start + length]:
            wanted[bag] += table[place]
    if COMPILED:
        np.testing.assert_array_equal(made, wanted)
    np.testing.assert_allclose(sums_of_bags(table, places, starts, lengths), wanted, rtol=1e-5, atol=1e-5)


@settings(deadline=None)
@given(st.data(), st.sampled_from(["f4", "f8"]), st.integers(1, 30), st.integers(0, 50), st.integers(1, 40))
def test_rows_added(data, kind, rows, count, width) -> None:
    places = np.array(data.draw(st.lists(st.integers(0, rows - 1), min_size=count, max_size=count)), np.int64)
    table, values = numbers(rows, width, kind=kind), numbers(count, width, kind=kind)
    wanted, left = table.copy(), table.copy()
    for place, value in zip(places, values):
        wanted[place] += value * table.dtype.type(-0.3)
    assert loops.add_scaled(table, places, values, np.dtype(kind).type(-0.3)) == COMPILED
    np.testing.assert_array_equal(table, wanted if COMPILED else left)
    add_to_rows(left, SparseArray(places[None], values, table.shape), -0.3)
    np.testing.assert_allclose(left, wanted, rtol=1e-5, atol=1e-5)


def test_what_the_loops_do_not_know_is_left_alone() -> None:
    places, table = np.array([0, 2]), numbers(4, 6)
    for other in (table.astype("f2"), table.astype("i8"), table.astype("c8"), table.astype(">f4"), table.T.copy().T):
        before = other.copy()
        assert not loops.add_scaled(other, places, other[:2].copy(), 2.0)
        assert not loops.sum_bags(other, places, np.array([0]), np.array([2]), np.empty((1, 6), other.dtype))
        np.testing.assert_array_equal(other, before)
    assert not loops.add_scaled(table, places.astype("i4"), table[:2].copy(), 2.0)
    assert not loops.add_scaled(table, places, table[:2].astype("f8"), 2.0)
    assert not loops.add_scaled(table, np.arange(4)[::2], table[:2].copy(), 2.0)
    assert not loops.sum_bags(table[:0], places[:0], np.array([0]), np.array([0]), np.empty((1, 6), "f4"))


@pytest.mark.parametrize("wrong", [-1, 4, 2**62, -(2**63)])
def test_places_that_do_not_exist_change_nothing(wrong) -> None:
    table = numbers(4, 6)
    before = table.copy()
    places = np.array([0, wrong, 1])
    for call in (
        lambda: loops.add_scaled(table, places, numbers(3, 6), 1.0),
        lambda: loops.sum_bags(table, places, np.array([0]), np.array([3]), np.empty((1, 6), "f4")),
    ):
        if COMPILED:
            with pytest.raises(IndexError, match="not one of the 4 rows"):
                call()
        else:
            assert not call()
    np.testing.assert_array_equal(table, before)


@pytest.mark.parametrize("start, length", [(-1, 2), (3, 1), (0, 4), (2, -1), (2**62, 2**62)])
def test_bags_that_do_not_exist(start, length) -> None:
    places, made = np.array([0, 1, 2]), np.empty((1, 6), "f4")
    if COMPILED:
        with pytest.raises(IndexError, match="bag 0 is not within the 3 places"):
            loops.sum_bags(numbers(4, 6), places, np.array([start]), np.array([length]), made)
    else:
        assert not loops.sum_bags(numbers(4, 6), places, np.array([start]), np.array([length]), made)


def test_wrong_sizes_and_memory_that_must_not_be_written() -> None:
    table, places = numbers(4, 6), np.array([0, 1])
    if COMPILED:
        with pytest.raises(ValueError, match="as many rows as places"):
            loops.add_scaled(table, places, numbers(3, 6), 1.0)
        with pytest.raises(ValueError, match="for every bag"):
            loops.sum_bags(table, places, np.array([0, 1]), np.array([1]), np.empty((1, 6), "f4"))
    table.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add_to_rows(table, SparseArray(places[None], numbers(2, 6), (4, 6)), 1.0)


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_steps_of_sgd_on_a_sparse_gradient(coalesced, maximize) -> None:
    weight = mpigrad.nn.Parameter(mpigrad.randn(50, 8))
    ids = mpigrad.randint(0, 50, (200,))
    wanted = weight.detach().clone()
    table = mpigrad.nn.functional.embedding(ids, weight, sparse=True)
    (table * table).sum().backward()
    dense = weight.grad.to_dense()
    if coalesced:
        weight.grad = weight.grad.coalesce()
    mpigrad.optim.SGD([weight], lr=0.1, maximize=maximize).step()
    wanted += dense * (0.1 if maximize else -0.1)
    mpigrad.testing.assert_close(weight.detach(), wanted)
