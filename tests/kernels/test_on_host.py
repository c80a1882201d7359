"""The kernels' bodies as the CPU runs them: what NumPy gives, within rounding, or False without doing anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mpigrad._core import kernels
from mpigrad._kernels import dropout, gelu, layer_norm, on_host, softmax, steps

COMPILED = not kernels.__file__.endswith(".py")
EPS = {"f4": 2e-6, "f8": 1e-13}
pytestmark = pytest.mark.host


def numbers(*shape: int, kind: str = "f4", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(kind)


def both(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> tuple[Any, Any, list[bool]]:
    """What `call` gives with the compiled bodies and without, and for each kernel whether it ran."""
    ran: list[bool] = []
    run = kernels.run

    def noting(number: int, arguments: tuple[Any, ...]) -> bool:
        ran.append(run(number, arguments))
        return ran[-1]

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "run", noting)
        made = call()
    with monkeypatch.context() as patch:
        patch.setattr(kernels, "run", lambda number, arguments: False)
        return made, call(), ran


def _norm_back(g: np.ndarray, x: np.ndarray) -> tuple[Any, ...]:
    mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return layer_norm.layer_norm_backward(g, x, x[0], mean, var, eps=1e-5)


CALLS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "softmax": lambda g, x: softmax.softmax(x, dim=1),
    "log_softmax": lambda g, x: softmax.log_softmax(x, dim=1),
    "softmax_backward": lambda g, x: softmax.softmax_backward(g, x, dim=1),
    "log_softmax_backward": lambda g, x: softmax.log_softmax_backward(g, x, dim=1),
    "gelu": lambda g, x: gelu.gelu(x),
    "gelu_backward": lambda g, x: gelu.gelu_backward(g, x),
    "gelu_tanh": lambda g, x: gelu.gelu_tanh(x),
    "gelu_tanh_backward": lambda g, x: gelu.gelu_tanh_backward(g, x),
    "layer_norm": lambda g, x: layer_norm.layer_norm(x, g[0], None, eps=1e-5)[0],
    "layer_norm_backward": lambda g, x: np.concatenate([each.ravel() for each in _norm_back(g, x)]),
    "dropout": lambda g, x: dropout.dropout(x, key=3, start=7, p=0.3, scale=1 / 0.7),
}  # fmt: skip
OF_SINGLE_ONLY = {"softmax", "log_softmax", "log_softmax_backward", "gelu_tanh", "gelu_tanh_backward"}


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 16), (2, 1000)])
@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_those_of_numpy(name, shape, kind, monkeypatch) -> None:
    g, x = numbers(*shape, kind=kind), numbers(*shape, kind=kind, seed=1) * 3
    made, expected, ran = both(monkeypatch, lambda: CALLS[name](g, x))
    assert made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_allclose(made, expected, rtol=EPS[kind], atol=EPS[kind] * max(1.0, float(np.abs(expected).max())))
    numpys = kind == "f8" and name in OF_SINGLE_ONLY or x.size > 1024 and name in ("softmax", "log_softmax")
    if COMPILED and not numpys:
        assert ran and all(ran)


@pytest.mark.parametrize("name", [name for name in CALLS if not name.startswith("layer_norm")])
def test_nan_and_infinity_are_those_of_numpy(name, monkeypatch) -> None:
    x = numbers(4, 20)
    x[0, 3], x[1, 18], x[2, 1] = math.nan, -math.inf, 200.0
    g = numbers(4, 20, seed=2)
    made, expected, _ = both(monkeypatch, lambda: CALLS[name](g, x))
    np.testing.assert_allclose(made, expected, rtol=2e-6, atol=2e-6)


def test_single_precision_is_right_to_the_last_digits() -> None:
    x = np.linspace(-80.0, 0.0, 20001).astype("f4")
    rows = np.stack([x, np.zeros_like(x)], axis=1)  # exp(x) and 1, divided by their sum
    made = np.concatenate([softmax.softmax(part, dim=1) for part in np.array_split(rows, 50)])
    np.testing.assert_allclose(made[:, 0] / made[:, 1], np.exp(x.astype("f8")), rtol=1e-6)
    x = np.linspace(-5.0, 5.0, 20001).astype("f4")
    erf = np.array([math.erf(each) for each in x.astype("f8") * math.sqrt(0.5)])
    np.testing.assert_allclose(gelu.gelu(x), x * 0.5 * (1 + erf), rtol=2e-6, atol=2e-6)


def test_arrays_that_do_not_lie_in_order_go_to_numpy(monkeypatch) -> None:
    x = numbers(6, 8)
    for given in (x.T, x[:, ::2], x.astype("f2"), x.astype(">f4")):
        made, expected, ran = both(monkeypatch, lambda given=given: gelu.gelu(given))
        assert not any(ran)
        assert made.tolist() == expected.tolist()


def _steps(kind: str) -> dict[str, Callable[[list[np.ndarray]], None]]:
    def room(like: np.ndarray, slot: int) -> np.ndarray:
        return np.empty_like(like)

    return {
        "descend": lambda a: steps.descend(a[0], a[1], room, 0.1, 0.01, True),
        "sgd": lambda a: steps.sgd(a[0], a[1], a[2], room, 0.1, 0.9, 0.1, 0.01, True, False, False),
        "adam": lambda a: steps.adam(*a, room, 0.1, 0.9, 0.99, 1e-8, 0.01, 0.1, 0.9, False, True, False),
        "adamw": lambda a: steps.adam(*a[:4], None, room, 0.1, 0.9, 0.99, 1e-8, 0.01, 0.1, 0.9, True, False, True),
        "adagrad": lambda a: steps.adagrad(a[0], a[1], a[3], room, 0.1, 1e-10, 0.01, False),
    }


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("count", [1, 37, 20000])
@pytest.mark.parametrize("name", ["descend", "sgd", "adam", "adamw", "adagrad"])
def test_steps_are_those_of_numpy(name, count, kind, monkeypatch) -> None:
    def call() -> list[np.ndarray]:
        arrays = [numbers(count, kind=kind, seed=seed) for seed in range(5)]
        arrays[3:] = [np.abs(each) for each in arrays[3:]]
        _steps(kind)[name](arrays)
        return arrays

    made, expected, ran = both(monkeypatch, call)
    for one, other in zip(made, expected):
        np.testing.assert_array_equal(one, other)  # to the last bit
    assert ran == [COMPILED]


def test_arrays_of_other_sizes_are_refused() -> None:
    p = numbers(8)
    arguments = (p, numbers(4), None, None, None, p.size, 0.1, 0.0, 0.0, 0.0, False, False, False)
    assert not kernels.run(kernels.find("sgd_step"), arguments)


def test_every_kernel_for_the_host_is_found() -> None:
    assert [kernels.find(kernel.name) >= 0 for kernel in on_host.KERNELS] == [COMPILED] * len(on_host.KERNELS)
    assert kernels.find("no such kernel") == -1
