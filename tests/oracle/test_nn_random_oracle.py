"""Matrix products, convolutions, pools, norms and losses of random shapes and settings, beside PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mpigrad

torch = pytest.importorskip("torch")
quick = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
small, seeds = st.integers(1, 4), st.integers(0, 10_000)
length = st.integers(0, 4)


def compare(call: Any, shapes: list[tuple[int, ...]], seed: int, kind: str = "float64") -> None:
    """Values, gradients and failures agree."""
    random = np.random.default_rng(seed)
    arrays = [random.standard_normal(shape) for shape in shapes]
    found = [outcome(m, call, arrays, kind) for m in (mpigrad, torch)]
    if isinstance(found[1], str):
        assert isinstance(found[0], str), f"PyTorch refuses: {found[1]}"
        return
    assert not isinstance(found[0], str), found[0]
    tolerance = 1e-6 if kind == "float64" else 2e-3
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance / 10)


def outcome(m: Any, call: Any, arrays: list[Any], kind: str) -> Any:
    dtype = getattr(m, kind)
    inputs = [m.tensor(each.tolist(), dtype=dtype).reshape(each.shape).detach().requires_grad_() for each in arrays]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = call(m, *inputs)
        except (RuntimeError, ValueError, IndexError) as error:
            return f"{type(error).__name__}: {error}"
        grads = m.autograd.grad(out.sum() + (out * out).sum(), inputs, allow_unused=True)
    assert str(out.dtype).endswith(kind)
    return [out.detach().numpy(), *(np.zeros(0) if each is None else each.numpy() for each in grads)]


shape_of_factor = st.lists(length, min_size=1, max_size=4).map(tuple)


@quick
@given(shape_of_factor, shape_of_factor, seeds, st.sampled_from(["float32", "float64"]))
def test_matmul_of_any_shapes(a: Any, b: Any, seed: int, kind: str) -> None:
    compare(lambda m, x, y: x @ y, [a, b], seed, kind)


@quick
@given(st.lists(small, max_size=2), st.lists(small, max_size=2), small, small, small, seeds)
def test_matmul_that_broadcasts(left: Any, right: Any, n: int, k: int, p: int, seed: int) -> None:
    compare(lambda m, x, y: x @ y, [(*left, n, k), (*right, k, p)], seed)


@quick
@given(st.data())
def test_einsum(data: Any) -> None:
    sizes = {letter: data.draw(small) for letter in "abcd"}
    words = data.draw(st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=3))
    known = sorted(set("".join(words)))
    output = data.draw(st.lists(st.sampled_from(known), unique=True, max_size=3))
    equation = ",".join(words) + "->" + "".join(output)
    shapes = [tuple(sizes[letter] for letter in word) for word in words]
    compare(lambda m, *operands: m.einsum(equation, *operands), shapes, data.draw(seeds))


@quick
@given(st.lists(length, max_size=3).map(tuple), small, small, st.booleans(), seeds)
def test_linear(front: Any, n: int, k: int, bias: bool, seed: int) -> None:
    shapes = [(*front, k), (n, k)] + ([(n,)] if bias else [])
    compare(lambda m, *args: m.nn.functional.linear(*args), shapes, seed)


@quick
@given(st.data())
def test_convolutions(data: Any) -> None:
    n = data.draw(st.sampled_from([1, 2]))
    pair = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(n))
    groups, each_in, each_out = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2)), data.draw(st.integers(1, 2))
    size, kernel = pair(1, 7), pair(1, 3)
    kw = {"stride": pair(1, 3), "padding": pair(0, 2), "dilation": pair(1, 2), "groups": groups}
    batch = data.draw(st.integers(1, 3))
    if data.draw(st.booleans()):
        weight = (groups * each_in, each_out, *kernel)
        call = lambda m, *args: getattr(m.nn.functional, f"conv_transpose{n}d")(*args, **kw)
    else:
        weight = (groups * each_out, each_in, *kernel)
        call = lambda m, *args: getattr(m.nn.functional, f"conv{n}d")(*args, **kw)
    compare(call, [(batch, groups * each_in, *size), weight, (groups * each_out,)], data.draw(seeds))


@quick
@given(st.data())
def test_pools(data: Any) -> None:
    n = data.draw(st.sampled_from([1, 2]))
    pair = lambda low, high: tuple(data.draw(st.integers(low, high)) for _ in range(n))
    name = data.draw(st.sampled_from(["max", "avg"]))
    kw: dict[str, Any] = {"kernel_size": pair(1, 3), "stride": pair(1, 3), "padding": pair(0, 1)}
    kw["ceil_mode"] = data.draw(st.booleans())
    if name == "max":
        kw["dilation"] = pair(1, 2)
    else:
        kw["count_include_pad"] = data.draw(st.booleans())
    size = pair(3, 7)  # PyTorch itself writes out of bounds where a window meets nothing but padding
    compare(lambda m, x: getattr(m.nn.functional, f"{name}_pool{n}d")(x, **kw), [(2, 2, *size)], data.draw(seeds))


@quick
@given(st.data())
def test_adaptive_pools_and_interpolation(data: Any) -> None:
    size = tuple(data.draw(st.integers(1, 6)) for _ in range(2))
    out = tuple(data.draw(st.integers(1, 6)) for _ in range(2))
    how = data.draw(st.sampled_from(["adaptive_avg", "adaptive_max", "nearest", "bilinear", "bicubic"]))
    if how.startswith("adaptive"):
        call = lambda m, x: getattr(m.nn.functional, f"{how}_pool2d")(x, out)
    else:
        call = lambda m, x: m.nn.functional.interpolate(x, out, mode=how)
    compare(call, [(1, 2, *size)], data.draw(seeds))


@quick
@given(st.data())
def test_norms(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)))
    which = data.draw(st.sampled_from(["batch", "layer", "group", "instance"]))
    if which == "layer":
        features = shape[-data.draw(st.integers(1, len(shape))) :]
        compare(lambda m, x, w, b: m.nn.functional.layer_norm(x, features, w, b), [shape, features, features], 1)
        return
    assume(np.prod(shape) > shape[1])
    calls = {
        "batch": lambda m, x, w, b: m.nn.functional.batch_norm(x, None, None, w, b, True),
        "group": lambda m, x, w, b: m.nn.functional.group_norm(x, shape[1], w, b),
        "instance": lambda m, x, w, b: m.nn.functional.instance_norm(x, weight=w, bias=b),
    }
    assume(which == "batch" or len(shape) > 2)
    compare(calls[which], [shape, (shape[1],), (shape[1],)], data.draw(seeds))


@quick
@given(st.data())
def test_cross_entropy(data: Any) -> None:
    batch, classes = data.draw(small), data.draw(st.integers(2, 4))
    more = tuple(data.draw(st.lists(st.integers(1, 3), max_size=2)))
    random = np.random.default_rng(data.draw(seeds))
    target = random.integers(0, classes, (batch, *more)).tolist()
    weight = random.uniform(0.5, 2.0, classes).tolist() if data.draw(st.booleans()) else None
    kw = {
        "reduction": data.draw(st.sampled_from(["mean", "sum", "none"])),
        "ignore_index": data.draw(st.sampled_from([-100, 0])),
        "label_smoothing": data.draw(st.sampled_from([0.0, 0.2])),
    }

    def call(m: Any, x: Any) -> Any:
        by = None if weight is None else m.tensor(weight, dtype=m.float64)
        return m.nn.functional.cross_entropy(x, m.tensor(target), by, **kw)

    compare(call, [(batch, classes, *more)], 3)
