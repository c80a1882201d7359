"""Every kernel, its body compiled for the host, beside its NumPy counterpart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpigrad._kernels import accumulate, dropout, gelu, layer_norm, nll, norms, runs, softmax, steps
from mpigrad._kernels.kernel import FLOATS as FLOAT_LETTERS
from mpigrad._kernels.kernel import INTEGERS

from .data import close, exact, kinds, lengths, numbers, shapes

pytestmark = [pytest.mark.usefixtures("on_host"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
checked = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
positive = st.floats(0.01, 1.0)


# -- softmax -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [softmax.softmax, softmax.log_softmax])
@checked
@given(st.data())
def test_softmax(function: Any, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    x = data.draw(numbers(shape, data.draw(kinds)))
    dim = data.draw(st.integers(0, max(len(shape) - 1, 0)))
    close(function.device(x, dim=dim), exact(function.host, x, dim=dim), loose=4)


@pytest.mark.parametrize("function", [softmax.softmax_backward, softmax.log_softmax_backward])
@checked
@given(st.data())
def test_softmax_backward(function: Any, data: st.DataObject) -> None:
    shape, kind = data.draw(shapes), data.draw(kinds)
    g, y = data.draw(numbers(shape, kind)), data.draw(numbers(shape, kind, special=False))
    y = np.asarray(-abs(y) if function is softmax.log_softmax_backward else abs(y) / 30)
    dim = data.draw(st.integers(0, max(len(shape) - 1, 0)))
    close(function.device(g, y, dim=dim), exact(function.host, g, y, dim=dim), g, loose=20)


# -- gelu --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", [gelu.gelu, gelu.gelu_tanh])
@checked
@given(st.data())
def test_gelu(function: Any, data: st.DataObject) -> None:
    x = data.draw(numbers(data.draw(shapes), data.draw(kinds)))
    close(function.device(x), exact(function.host, x), loose=4)


@pytest.mark.parametrize("function", [gelu.gelu_backward, gelu.gelu_tanh_backward])
@checked
@given(st.data())
def test_gelu_backward(function: Any, data: st.DataObject) -> None:
    shape, kind = data.draw(shapes), data.draw(kinds)
    g, x = data.draw(numbers(shape, kind)), data.draw(numbers(shape, kind))
    close(function.device(g, x), exact(function.host, g, x), g, loose=4)


# -- layer norm ----------------------------------------------------------------------------------------------------------
@checked
@given(st.data(), st.integers(0, 20), lengths.filter(bool), kinds, st.booleans(), st.booleans())
def test_layer_norm(data: st.DataObject, rows: int, length: int, kind: str, weighted: bool, biased: bool) -> None:
    x = data.draw(numbers((rows, length), kind))
    w = data.draw(numbers((length,), kind)) if weighted else None
    b = data.draw(numbers((length,), kind)) if biased else None
    function = layer_norm.layer_norm
    for made, wanted in zip(function.device(x, w, b, eps=1e-3), exact(function.host, x, w, b, eps=1e-3)):
        close(made, wanted, loose=200)


@checked
@given(st.data(), st.integers(0, 40), lengths.filter(bool), kinds)
def test_layer_norm_backward(data: st.DataObject, rows: int, length: int, kind: str) -> None:
    g, x = (data.draw(numbers((rows, length), kind, special=False)) for _ in range(2))
    w = data.draw(numbers((length,), kind, special=False))
    _, mean, var = layer_norm.layer_norm.host(x, w, None, eps=1e-3)
    function = layer_norm.layer_norm_backward
    made, wanted = (function.device(g, x, w, mean, var, eps=1e-3), exact(function.host, g, x, w, mean, var, eps=1e-3))
    for each, other in zip(made, wanted):
        close(each, other, loose=1000)


# -- negative log likelihood ---------------------------------------------------------------------------------------------
@st.composite
def _classified(draw: Any, special: bool = True) -> tuple[Any, Any, Any]:
    batch, classes = draw(st.sampled_from([0, 1, 3, 50])), draw(st.integers(1, 5))
    rest, kind = draw(st.sampled_from([(), (3,), (2, 4), (0,), (700,)])), draw(kinds)
    x = draw(numbers((batch, classes, *rest), kind, special))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return x, rng.integers(0, classes, (batch, *rest)), -rng.integers(0, 3, (batch, *rest)).astype(kind)


@checked
@given(_classified(special=False), st.booleans())
def test_nll(given_: Any, summed: bool) -> None:
    x, target, scale = given_
    made = np.asarray(nll.nll.device(x, target, scale, summed=summed))
    wanted = exact(nll.nll.host, x, target, scale, summed=summed)
    assert made.dtype == x.dtype
    close(made, wanted, loose=1 + 10 * float(abs(scale.astype("f8")).sum()))


@checked
@given(st.data(), _classified(), st.booleans())
def test_nll_backward(data: st.DataObject, given_: Any, single: bool) -> None:
    x, target, scale = given_
    g = data.draw(numbers(() if single else target.shape, x.dtype.str))
    made = nll.nll_backward.device(g, target, scale, classes=x.shape[1])
    close(made, exact(nll.nll_backward.host, g, target, scale, classes=x.shape[1]))


@checked
@given(st.data(), _classified(), st.booleans(), st.booleans(), st.sampled_from([-100, 0, 2]))
def test_scales_of_classes(data: st.DataObject, given_: Any, weighted: bool, small: bool, ignored: int) -> None:
    x, target, _ = given_
    target = target + data.draw(st.sampled_from([0, 0, 2]))  # some are no class at all
    target = target.astype(np.uint8) if small else target
    weight = data.draw(numbers((x.shape[1],), x.dtype.str, special=False)) if weighted else None
    made, wanted = (each(x, target, weight, ignored) for each in (nll.scales.device, nll.scales.host))
    assert (made[0] == wanted[0]).all() and (made[1] == wanted[1]).all() and made[3] == wanted[3]
    assert made[0].dtype == np.int64 and made[1].dtype == x.dtype
    assert made[2] == pytest.approx(wanted[2], rel=1e-9, abs=1e-9)


# -- rows added up -------------------------------------------------------------------------------------------------------
@st.composite
def _rows(draw: Any) -> Any:
    count, width = draw(st.sampled_from([0, 1, 7, 300])), draw(st.integers(0, 5))
    letter = draw(st.sampled_from(FLOAT_LETTERS + INTEGERS + "FD?"))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = rng.integers(-8, 8, (count, width)) * rng.choice([1, 1j] if letter in "FD" else [1], (count, 1))
    return made.astype(letter), rng


@checked
@given(_rows(), st.integers(1, 9))
def test_coalescing(drawn: Any, places: int) -> None:
    rows, rng = drawn
    keys = rng.integers(0, places, rows.shape[0])
    order, starts = runs.sorted_runs.device(keys, places)
    assert all((a == b).all() for a, b in zip(runs.sorted_runs.host(keys, places), (order, starts)))
    made = runs.sums_of_runs.device(rows, order, starts)
    assert made.dtype == rows.dtype and (made == runs.sums_of_runs.host(rows, order, starts)).all()
    wanted = [rows[keys == key].sum(axis=0, dtype=rows.dtype) for key in np.unique(keys)]
    assert made.shape == (len(wanted), rows.shape[1]) and all((a == b).all() for a, b in zip(made, wanted))


@checked
@given(_rows(), st.integers(1, 9))
def test_scatter(drawn: Any, places: int) -> None:
    rows, rng = drawn
    keys = rng.integers(0, places, rows.shape[0]).astype(rng.choice(["i4", "i8"]))
    into = rng.integers(0, 4, (places, rows.shape[1])).astype(rows.dtype)
    wanted, other = into.copy(), into.copy()
    runs.scatter_rows.host(into, keys, rows)
    runs.scatter_rows.device(other, keys, rows)
    np.add.at(wanted, keys, rows)
    assert (into == wanted).all() and (other == wanted).all()
    for added in (runs.rows_added.host(keys, rows, places), runs.rows_added.device(keys, rows, places)):
        alone = np.zeros_like(wanted)
        np.add.at(alone, keys, rows)
        assert added.dtype == rows.dtype and (added == alone).all()


@checked
@given(_rows(), st.integers(0, 20))
def test_bags(drawn: Any, count: int) -> None:
    rows, rng = drawn
    order = rng.integers(0, rows.shape[0], 30) if rows.shape[0] else np.zeros(0, np.int64)
    starts = np.sort(rng.integers(0, order.size + 1, count + 1))
    bags = order, starts[:-1], np.diff(starts)
    made = runs.sums_of_bags.device(rows, *bags)
    assert made.dtype == rows.dtype and (made == runs.sums_of_bags.host(rows, *bags)).all()
    wanted = [rows[order[begin:end]].sum(axis=0, dtype=rows.dtype) for begin, end in zip(starts[:-1], starts[1:])]
    assert made.shape == (count, rows.shape[1]) and all((a == b).all() for a, b in zip(made, wanted))


@checked
@given(st.data(), kinds, st.sampled_from([0, 1, 20]), st.integers(1, 5), st.integers(1, 6))
def test_largest_of_bags(data: st.DataObject, kind: str, count: int, width: int, bags: int) -> None:
    rows = data.draw(numbers((count, width), kind))
    starts = np.sort(np.array([0, *data.draw(st.lists(st.integers(0, count), min_size=bags - 1, max_size=bags - 1)), count]))
    assert (runs.largest_of_bags.device(rows, starts) == runs.largest_of_bags.host(rows, starts)).all()


# -- many tensors in one launch --------------------------------------------------------------------------------------------
many = st.lists(st.sampled_from([(), (0,), (1,), (5,), (3, 4), (9000,), (2, 8192)]), min_size=1, max_size=5)


@checked
@given(many, st.sampled_from(FLOAT_LETTERS + INTEGERS + "FD?"), st.integers(0, 2**32), st.booleans())
def test_accumulation(sizes: Any, letter: str, seed: int, crowd: bool) -> None:
    rng = np.random.default_rng(seed)
    sizes = sizes + [(2,)] * 150 if crowd else sizes  # more than one table holds
    pairs = [tuple(rng.integers(0, 9, size).astype(letter) for _ in range(2)) for size in sizes]
    pairs.append((rng.integers(0, 9, (3, 4)).astype(letter).T, rng.integers(0, 9, (4, 3)).astype(letter)))  # not alike
    wanted = [(held + grad).astype(letter) for held, grad in pairs]
    accumulate.add_many.device(*zip(*pairs))
    assert all((held == sum_).all() for (held, _), sum_ in zip(pairs, wanted))


def _room(like: Any, slot: int) -> Any:
    return np.empty_like(like)


def _parameters(sizes: Any, kind: str, seed: int, roles: int) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    made = [[np.asarray(rng.standard_normal(size)).astype(kind) for _ in range(roles)] for size in sizes]
    for arrays in made:
        for each in arrays[3:] if roles > 3 else arrays[2:]:
            np.abs(each, out=each)
    return made


def _same_steps(kernel: Any, sizes: Any, kind: str, seed: int, roles: int, one_step: Any, *given_: Any) -> None:
    """Step with the kernel and, array by array, with the counterpart, and compare everything that changed."""
    mine, other = _parameters(sizes, kind, seed, roles), _parameters(sizes, kind, seed, roles)
    steps.step_many(kernel, mine, *given_)
    for arrays, wanted in zip(mine, other):
        if kind == "f2":
            wanted = [each.astype("f4") for each in wanted]
        one_step(*wanted)
        for array, each in zip(arrays, wanted):
            close(array, each, loose=8)


@checked
@given(many, kinds, st.integers(0, 2**32), positive, st.sampled_from([0.0, 0.5]), st.sampled_from([0.0, 0.3]),
       st.sampled_from([0.0, 0.1]), st.booleans(), st.booleans(), st.booleans())  # fmt: skip
def test_sgd(sizes: Any, kind: str, seed: int, lr: float, momentum: float, dampening: float, decay: float, nesterov: bool,
             maximize: bool, first: bool) -> None:  # fmt: skip
    given_ = lr, momentum, dampening, decay, nesterov and momentum > 0, maximize, first
    _same_steps(steps.SGD, sizes, kind, seed, 3, lambda p, g, b: steps.sgd(p, g, b, _room, *given_),
                *given_)  # fmt: skip


@checked
@given(many, kinds, st.integers(0, 2**32), positive, st.sampled_from([0.0, 0.1]), st.booleans(), st.booleans(), st.booleans())
def test_adam(sizes: Any, kind: str, seed: int, lr: float, decay: float, decoupled: bool, amsgrad: bool, maximize: bool) -> None:
    given_ = lr, 0.9, 0.98, 1e-2, decay, lr / 0.7, 0.8, decoupled, amsgrad, maximize

    def one(p: Any, g: Any, mean: Any, square: Any, largest: Any = None) -> None:
        steps.adam(p, g, mean, square, largest, _room, *given_)

    _same_steps(steps.ADAM, sizes, kind, seed, 5 if amsgrad else 4, one, *given_)


@checked
@given(many, kinds, st.integers(0, 2**32), positive, st.sampled_from([0.0, 0.1]), st.booleans())
def test_adagrad(sizes: Any, kind: str, seed: int, size: float, decay: float, maximize: bool) -> None:
    given_ = size, 1e-2, decay, maximize
    _same_steps(steps.ADAGRAD, sizes, kind, seed, 3, lambda p, g, t: steps.adagrad(p, g, t, _room, *given_), *given_)


@checked
@given(st.data(), many, kinds, st.sampled_from([0.0, 1.0, 2.0, 3.0, 0.5, float("inf")]), st.booleans())
def test_norm_of_many(data: st.DataObject, sizes: Any, kind: str, order: float, crowd: bool) -> None:
    arrays = [data.draw(numbers(size, kind)) for size in (sizes + [(2,)] * 70 if crowd else sizes)]
    arrays.append(np.ones(3, "f4"))  # types may differ
    made = norms.norm_of_many.device(arrays, order)
    wanted = norms.norm_of_many([each.astype("f8") for each in arrays], order)
    assert made.dtype == arrays[0].dtype and made.shape == ()
    close(made, wanted, loose=4)


@checked
@given(st.data(), many, kinds, st.sampled_from([0.5, 1.0, 4.0, np.nan, np.inf]), kinds)
def test_scaling_many(data: st.DataObject, sizes: Any, kind: str, total: float, of_norm: str) -> None:
    arrays = [data.draw(numbers(size, kind)) for size in sizes] + [np.ones((4, 3), kind).T[1:]]
    wanted, norm = [each.copy() for each in arrays], np.asarray(total, of_norm)
    norms.scale_many.device(arrays, norm, 1.0)
    norms.scale_many(wanted, norm, 1.0)
    for each, other in zip(arrays, wanted):
        close(each, other)


# -- dropout -------------------------------------------------------------------------------------------------------------
@checked
@given(st.data(), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
def test_dropout(data: st.DataObject, key: int, start: int, p: float) -> None:
    x = data.draw(numbers(data.draw(shapes), data.draw(kinds)))
    kw = {"key": key, "start": start, "p": p, "scale": 0.0 if p == 1 else 1 / (1 - p)}
    made, wanted = dropout.dropout.device(x, **kw), np.asarray(dropout.dropout.host(x, **kw))
    np.testing.assert_array_equal(made, wanted)
    assert made.dtype == x.dtype
