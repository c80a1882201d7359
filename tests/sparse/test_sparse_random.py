"""Random sparse tensors against the same computation on dense ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpigrad

KINDS = ["f4", "f8", "i8", "c16"]


@st.composite
def pairs(draw):
    """Two sparse tensors of one shape and split: up to three sparse and two dense dimensions, places that repeat, or none."""
    sparse_dims = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    dense_dims = draw(st.lists(st.integers(0, 3), max_size=2))
    kind = draw(st.sampled_from(KINDS))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))

    def one():
        count = draw(st.integers(0, 8))
        places = np.stack([random.integers(0, length, count) for length in sparse_dims])
        values = random.integers(-4, 5, (count, *dense_dims)).astype(kind)
        if kind == "c16":
            values = values + 1j * random.integers(-4, 5, values.shape)
        made = mpigrad.sparse_coo_tensor(
            mpigrad.tensor(places), mpigrad.tensor(values), (*sparse_dims, *dense_dims)
        )
        return made.coalesce() if draw(st.booleans()) else made

    return one(), one()


def dense(tensor):
    """The elements, computed without the code under test."""
    found = np.zeros(tuple(tensor.shape), tensor._values().numpy().dtype)
    for column, value in zip(tensor._indices().numpy().T, tensor._values().numpy()):
        found[tuple(column)] += value
    return found


def check(found, wanted) -> None:
    assert tuple(found.shape) == wanted.shape
    np.testing.assert_allclose(dense(found) if found.is_sparse else found.numpy(), wanted, rtol=1e-5, atol=1e-6)
    if found.is_sparse and found.is_coalesced():
        places = [tuple(column) for column in found._indices().numpy().T]
        assert places == sorted(set(places))


@settings(max_examples=150, deadline=None)
@given(pairs())
def test_arithmetic(pair) -> None:
    a, b = pair
    x, y = dense(a), dense(b)
    check(a.coalesce(), x)
    check(a.to_dense(), x)
    check(a + b, x + y)
    check(a - b, x - y)
    check(mpigrad.add(a, b, alpha=3), x + 3 * y)
    check(a * b, x * y)
    check(a * 3, x * 3)
    check(-a, -x)
    check(a / 2, x / 2)
    check(mpigrad.tensor(x) + b, x + y)
    check(mpigrad.tensor(x) - b, x - y)
    check(a * mpigrad.tensor(y), x * y)
    check(a.abs(), np.abs(x))
    check(a.clone().add_(b), x + y)
    check(a.clone().mul_(b), x * y)
    check(a.clone().sub_(b).mul_(2), 2 * (x - y))
    check(mpigrad.tensor(x.copy()).add_(b), x + y)
    assert mpigrad.equal(a, b) == bool((x == y).all())


@settings(max_examples=100, deadline=None)
@given(pairs(), st.data())
def test_shapes(pair, data) -> None:
    a, b = pair
    x, y = dense(a), dense(b)
    dim = data.draw(st.integers(0, a.sparse_dim() - 1))
    place = data.draw(st.integers(0, a.shape[dim] - 1))
    index = data.draw(st.lists(st.integers(0, a.shape[dim] - 1), max_size=4))
    check(mpigrad.stack([a, b, a], dim), np.stack([x, y, x], dim))
    check(mpigrad.cat([a, b, a], dim), np.concatenate([x, y, x], dim))
    check(mpigrad.cat([a, b], a.ndim - 1), np.concatenate([x, y], a.ndim - 1))
    check(a.select(dim, place), x.take(place, dim))
    check(a.index_select(dim, mpigrad.tensor(index, dtype=mpigrad.int64)), x.take(np.array(index, "i8"), dim))
    check(a.transpose(0, dim), x.swapaxes(0, dim))
    check(a.unsqueeze(dim), np.expand_dims(x, dim))
    check(mpigrad.tensor(x).to_sparse(dim + 1), x)
    check(mpigrad.tensor(x).sparse_mask(b.coalesce()), x * _mask(b))
    check(a.sparse_mask(b.coalesce()), x * _mask(b))


def _mask(tensor):
    found = np.zeros(tuple(tensor.shape), bool)
    for column in tensor._indices().numpy().T:
        found[tuple(column)] = True
    return found


@settings(max_examples=100, deadline=None)
@given(pairs(), st.data())
def test_sums(pair, data) -> None:
    a, _ = pair
    x = dense(a)
    dims = data.draw(st.sets(st.integers(0, a.ndim - 1), min_size=1))
    check(mpigrad.sparse.sum(a), np.asarray(x.sum()))
    check(mpigrad.sparse.sum(a, tuple(dims)), x.sum(tuple(dims)))
    check(a.sum(), np.asarray(x.sum()))


@pytest.mark.parametrize("dense_dims", [(), (2,)])
def test_softmax_is_that_of_what_is_held(dense_dims) -> None:
    random = np.random.default_rng(3)
    places, values = random.integers(0, 4, (2, 9)), random.standard_normal((9, *dense_dims))
    x = mpigrad.sparse_coo_tensor(mpigrad.tensor(places), mpigrad.tensor(values), (4, 4, *dense_dims))
    whole, mask = dense(x), _mask(x)
    whole = np.where(mask, whole, -np.inf)
    for dim in (0, 1):
        with np.errstate(all="ignore"):
            powers = np.exp(whole - whole.max(dim, keepdims=True))
            wanted = np.nan_to_num(powers / powers.sum(dim, keepdims=True))
        check(mpigrad.sparse.softmax(x, dim), wanted)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 4), st.integers(0, 12), st.integers(0, 2**32))
def test_matrix_products(rows, inner, columns, count, seed) -> None:
    random = np.random.default_rng(seed)
    places = np.stack([random.integers(0, rows, count), random.integers(0, inner, count)])
    a = mpigrad.sparse_coo_tensor(
        mpigrad.tensor(places), mpigrad.tensor(random.standard_normal(count)), (rows, inner)
    )
    b = mpigrad.tensor(random.standard_normal((inner, columns)))
    wanted = dense(a) @ b.numpy()
    check(mpigrad.sparse.mm(a, b), wanted)
    check(a @ b, wanted)
    check(b.t() @ a.t(), wanted.T)
    check(mpigrad.sparse.addmm(mpigrad.tensor(wanted), a, b, alpha=2, beta=-1), wanted)
    check(mpigrad.sparse.mm(a, b.to_sparse()), wanted)
