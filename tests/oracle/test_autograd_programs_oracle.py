"""Random programs, run by PyTorch and by mpigrad: the same gradients, for any targets, to any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mpigrad

torch = pytest.importorskip("torch")

# Each makes one or more values from two earlier ones; all have 6 elements. In-place ones change a fresh copy.
OPERATIONS: list[Any] = [
    lambda t, a, b: a + b,
    lambda t, a, b: a * b,
    lambda t, a, b: a - 2.0 * b,
    lambda t, a, b: a / (b * b + 1.0),
    lambda t, a, b: a.sin(),
    lambda t, a, b: (a * 0.3).exp(),
    lambda t, a, b: a.tanh() * b.sum(),
    lambda t, a, b: t.cat([a[:2], b[2:]]),
    lambda t, a, b: list(t.stack([a, b]).unbind(0)),
    lambda t, a, b: list((a.reshape(6, 1) * b[:2]).t().reshape(12).split(6)),
    lambda t, a, b: (a.reshape(2, 3).matmul(b.reshape(3, 2))).sum() * a,
    lambda t, a, b: a.reshape(2, 3).mean(0, keepdim=True).expand(2, 3).reshape(6) + b,
    lambda t, a, b: _changed(t, a, b),
    lambda t, a, b: a.detach() * b,
    lambda t, a, b: a[[0, 0, 3, 5, 1, 1]],
    lambda t, a, b: t.where(a.detach() > 0, a, b * b),
    lambda t, a, b: a.max() * b,
    lambda t, a, b: _scaled(t).apply(a, b),
]
STEPS = st.lists(
    st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=14
)
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


def _changed(t: Any, a: Any, b: Any) -> Any:
    made = a.clone()
    made[1:4].mul_(b[:3])
    made.reshape(2, 3).t()[0].add_(b[4])
    return made


class _Functions:
    made: dict[Any, Any] = {}


def _scaled(t: Any) -> Any:
    if t not in _Functions.made:

        class Scaled(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, a: Any, b: Any) -> Any:
                ctx.save_for_backward(a, b)
                return a * b * 3

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                a, b = ctx.saved_tensors
                return grad * b * 3, grad * a * 3

        _Functions.made[t] = Scaled
    return _Functions.made[t]


def run(t: Any, steps: list[tuple[int, int, int]]) -> tuple[list[Any], list[Any]]:
    base = np.linspace(-1.1, 1.3, 6)
    leaves = [t.tensor(base * scale, dtype=t.float64, requires_grad=True) for scale in (1.0, 0.7, -0.4)]
    values = list(leaves)
    for which, i, j in steps:
        made = OPERATIONS[which](t, values[i % len(values)], values[j % len(values)])
        values += made if isinstance(made, list) else [made]
    return leaves, values


def numbers(grads: Any) -> list[Any]:
    return [None if grad is None else grad.detach().numpy() for grad in grads]


def agree(expected: list[Any], found: list[Any]) -> None:
    assert len(expected) == len(found)
    for a, b in zip(expected, found):
        assert (a is None) == (b is None)
        if a is not None:
            assert np.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True), (a, b)


@settings(max_examples=80, **COMMON)
@given(STEPS)
def test_backward_into_leaves(steps: list[tuple[int, int, int]]) -> None:
    results = []
    for t in (torch, mpigrad):
        leaves, values = run(t, steps)
        kept = [value for value in values[3:] if value.requires_grad]
        for value in kept:
            value.retain_grad()
        total = sum((value * value).sum() for value in values[-2:])
        total.backward(retain_graph=True)
        total.backward()
        results.append(numbers([leaf.grad for leaf in leaves] + [value.grad for value in kept]))
    agree(*results)


@settings(max_examples=80, **COMMON)
@given(STEPS, st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True))
def test_grad_of_any_targets(steps: list[tuple[int, int, int]], places: list[int]) -> None:
    results = []
    for t in (torch, mpigrad):
        _, values = run(t, steps)
        able = [value for value in values if value.requires_grad]
        targets = [able[place % len(able)] for place in places]
        outputs = [value for value in values[-3:] if value.requires_grad]
        seeds = [t.ones_like(value) for value in outputs]
        first = t.autograd.grad(outputs, targets, seeds, allow_unused=True, create_graph=True)
        deeper = [grad for grad in first if grad is not None and grad.requires_grad]
        second = []
        if deeper:
            again = [t.ones_like(grad) for grad in deeper]
            second = list(t.autograd.grad(deeper, targets, again, allow_unused=True))
        results.append(numbers([*first, *second]))
    agree(*results)


@settings(max_examples=40, **COMMON)
@given(STEPS, st.lists(st.integers(0, 99), min_size=1, max_size=3, unique=True))
def test_backward_into_inputs(steps: list[tuple[int, int, int]], places: list[int]) -> None:
    results = []
    for t in (torch, mpigrad):
        leaves, values = run(t, steps)
        able = [value for value in values if value.requires_grad]
        targets = [able[place % len(able)] for place in places]
        (able[-1] * able[-1]).sum().backward(inputs=targets)
        results.append(numbers([leaf.grad for leaf in leaves] + [target.grad for target in targets]))
    agree(*results)
