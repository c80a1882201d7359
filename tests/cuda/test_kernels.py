"""The kernels through CuPy, on what `tests/cuda` runs on: results beside the NumPy counterparts, and one launch for many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mpigrad._array.device import cupy, host
from mpigrad._kernels import accumulate, dropout, gelu, layer_norm, nll, norms, philox, runs, softmax, steps
from mpigrad._kernels import kernel as definition

KINDS = ["f2", "f4", "f8"]


@pytest.fixture(params=[0, 1], autouse=True)
def on_gpu(request: pytest.FixtureRequest) -> Iterator[None]:
    with cupy().cuda.Device(request.param):
        yield


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched, in order."""
    seen: list[str] = []
    compiled = definition._compiled

    def noting(wanted: Any, letters: str, xp: Any) -> Any:
        seen.append(wanted.name)
        return compiled(wanted, letters, xp)

    monkeypatch.setattr(definition, "_compiled", noting)
    return seen


def draw(shape: Any, kind: Any, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape)).astype(kind)


def there(value: Any) -> Any:
    return cupy().asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value


def same(function: Any, *arguments: Any, **kw: Any) -> None:
    """A function on device arrays and its counterpart on the same values, half precision through single."""
    made = function(*map(there, arguments), **kw)
    wide = [each.astype("f4") if getattr(each, "dtype", None) == np.float16 else each for each in arguments]
    wanted = function.host(*wide, **kw)
    for each, other in zip(made if isinstance(made, tuple) else [made], wanted if isinstance(wanted, tuple) else [wanted]):
        if not isinstance(each, cupy().ndarray):
            assert each == pytest.approx(other)
            continue
        found = host(each)
        unit = 0 if found.dtype.kind != "f" else 100 * float(np.finfo(found.dtype).eps)
        np.testing.assert_allclose(found.astype("f8"), np.asarray(other, "f8"), rtol=unit, atol=unit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape, dim", [((3, 5), 1), ((2, 300), 1), ((2, 7, 4), 1), ((), 0), ((0, 3), 1)])
def test_softmax(kind: str, shape: Any, dim: int) -> None:
    x, g = draw(shape, kind), draw(shape, kind, 1)
    same(softmax.softmax, x, dim=dim)
    same(softmax.log_softmax, x, dim=dim)
    same(softmax.softmax_backward, g, abs(x) / 8, dim=dim)
    same(softmax.log_softmax_backward, g, -abs(x), dim=dim)


@pytest.mark.parametrize("kind", KINDS)
def test_elements(kind: str) -> None:
    for shape in ((), (0,), (700,), (3, 4)):
        x, g = draw(shape, kind), draw(shape, kind, 1)
        same(gelu.gelu, x)
        same(gelu.gelu_tanh, x)
        same(gelu.gelu_backward, g, x)
        same(gelu.gelu_tanh_backward, g, x)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 5), (40, 300)])
def test_layer_norm(kind: str, shape: Any) -> None:
    x, g, w, b = draw(shape, kind), draw(shape, kind, 1), draw(shape[1], kind, 2), draw(shape[1], kind, 3)
    same(layer_norm.layer_norm, x, w, b, eps=1e-5)
    _, mean, var = layer_norm.layer_norm.host(x, w, b, eps=1e-5)
    same(layer_norm.layer_norm_backward, g, x, w, mean, var, eps=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rest", [(), (3,)])
def test_nll(kind: str, rest: Any) -> None:
    x, target = draw((6, 4, *rest), kind), np.random.default_rng(0).integers(0, 4, (6, *rest))
    scale = -np.random.default_rng(1).integers(0, 3, (6, *rest)).astype(kind)
    for summed in (False, True):
        same(nll.nll, x, target, scale, summed=summed)
    same(nll.nll_backward, draw((), kind), target, scale, classes=4)
    same(nll.nll_backward, draw((6, *rest), kind), target, scale, classes=4)
    same(nll.scales, x, target, draw(4, kind), 2)
    same(nll.scales, x, target + 3, None, -100)


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4", "i8", "u1", "c8", "?"])
def test_rows(kind: str) -> None:
    rng = np.random.default_rng(0)
    rows, keys = rng.integers(0, 5, (50, 3)).astype(kind), rng.integers(0, 9, 50)
    order, starts = runs.sorted_runs(keys, 9)
    gpu_order, gpu_starts = runs.sorted_runs(there(keys), 9)
    assert (host(gpu_order) == order).all() and (host(gpu_starts) == starts).all()
    assert (host(runs.sums_of_runs(there(rows), gpu_order, gpu_starts)) == runs.sums_of_runs(rows, order, starts)).all()
    assert (host(runs.rows_added(there(keys), there(rows), 9)) == runs.rows_added(keys, rows, 9)).all()
    if kind[0] == "f":
        places = np.array([0, 0, 20, 50])
        assert (host(runs.largest_of_bags(there(rows), there(places))) == runs.largest_of_bags(rows, places)).all()


def test_random_numbers_are_those_of_the_cpu() -> None:
    source = philox.words(7, 2**64 - 2, 100)
    assert (host(philox.words(7, 2**64 - 2, 100, cupy())) == source).all()
    for kind in map(np.dtype, KINDS):
        assert (host(philox.uniform(there(source), kind)) == philox.uniform(source, kind)).all()
        same(philox.normal, source, kind=kind)
        x, kw = draw((5, 7), kind), {"key": 3, "start": 9, "p": 0.4, "scale": 1 / 0.6}
        assert (host(dropout.dropout(there(x), **kw)) == dropout.dropout(x, **kw)).all()


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i8", "c16"])
def test_many_gradients_in_one_launch(kind: str, launches: list[str]) -> None:
    rng = np.random.default_rng(0)
    arrays = [tuple(rng.integers(0, 9, size).astype(kind) for _ in range(2)) for size in (3, 0, 9000, (2, 4))]
    given = [tuple(map(there, pair)) for pair in arrays]
    accumulate.add_many(*zip(*given))
    assert launches == ["add_many"]
    for (held, _), (was, grad) in zip(given, arrays):
        assert (host(held) == was + grad).all()


@pytest.mark.parametrize("kind", KINDS)
def test_steps(kind: str, launches: list[str]) -> None:
    def room(like: Any, slot: int) -> Any:
        return np.empty_like(like)

    arrays = [[abs(draw(size, kind, seed)) for seed in range(5)] for size in (3, 9000, (2, 4))]
    given = [[there(each) for each in some] for some in arrays]
    sgd, adagrad = (0.1, 0.9, 0.0, 0.01, True, False, False), (0.1, 1e-3, 0.01, False)
    adam = (0.1, 0.9, 0.99, 1e-3, 0.01, 0.2, 0.3, True, True, False)
    steps.step_many(steps.SGD, given, *sgd)
    steps.step_many(steps.ADAGRAD, given, *adagrad)
    steps.step_many(steps.ADAM, given, *adam)
    assert launches == ["sgd_step", "adagrad_step", "adam_step"]
    for made, before in zip(given, arrays):
        wide = [each.astype("f4") if kind == "f2" else each for each in before]
        steps.sgd(*wide[:3], room, *sgd)
        steps.adagrad(*wide[:3], room, *adagrad)
        steps.adam(*wide, room, *adam)
        for each, other in zip(made, wide):
            unit = 100 * float(np.finfo(kind).eps)
            np.testing.assert_allclose(host(each).astype("f8"), other.astype("f8"), rtol=unit, atol=unit)


@pytest.mark.parametrize("order", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_norms(order: float) -> None:
    arrays = [draw(3, "f4"), draw(9000, "f4", 1), draw((2, 4), "f8", 2)]
    given = list(map(there, arrays))
    total, wanted = norms.norm_of_many.device(given, order), norms.norm_of_many(arrays, order)
    assert float(total) == pytest.approx(float(wanted), rel=1e-5)
    norms.scale_many.device(given, total, 0.5)
    norms.scale_many(arrays, wanted, 0.5)
    for each, other in zip(given, arrays):
        np.testing.assert_allclose(host(each), other, rtol=1e-5)
