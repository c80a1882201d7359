"""Random programs full of views and in-place changes, run by PyTorch too: the same gradients to second order, versions,
nodes, and errors where the one or the other has to complain."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import mpigrad

torch = pytest.importorskip("torch")

FUNCTIONS = ("sin", "exp", "tanh", "sigmoid", "neg", "relu", "abs", "cos")
CHANGES = ("sin_", "exp_", "tanh_", "sigmoid_", "neg_", "zero_")


def _step(t: Any, choose: random.Random, values: list[Any]) -> None:
    kind, a, b = choose.randrange(12), choose.choice(values), choose.choice(values)
    other, name, change = choose.randrange(2), choose.choice(FUNCTIONS), choose.choice(CHANGES)
    if kind < 3:
        values.append(getattr(t, name)(a))
    elif kind == 3:
        values.append(a * b if a.shape == b.shape else a.sum() * b)
    elif kind == 4:
        values.append(a.t() if a.dim() == 2 else a.view(-1))
    elif kind == 5:
        values.append(a[other] if a.dim() else a + b.sum())
    elif kind == 6:
        values.append(a.detach() if other else a.reshape(-1))
    elif kind == 7 and other:
        a.mul_(1.5)
    elif kind == 7:
        a.add_(b.sum())
    elif kind == 8:
        getattr(a, change)()
    elif kind == 9 and a.dim():
        a[0] = b.sum() if other else 0.5
    elif kind == 10:
        with t.no_grad():
            a.mul_(1.1)
    else:
        values.extend(a.unbind(0) if a.dim() and other else [a.clone()])


def _gradients(t: Any, choose: random.Random, values: list[Any], leaves: list[Any]) -> list[Any]:
    total = sum(each.sum() for each in values[-3:])
    found = list(t.autograd.grad(total, leaves, create_graph=bool(choose.randrange(2)), allow_unused=True))
    again = [each for each in found if each is not None and each.requires_grad]
    if again:
        found += t.autograd.grad(sum(each.sum() for each in again), leaves, allow_unused=True)
    return [None if each is None else each.detach().numpy(force=True) for each in found]


def _run(t: Any, seed: int) -> list[Any]:
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    leaves = [t.tensor(numbers.uniform(0.2, 1.0, (2, 3)), requires_grad=True) for _ in range(2)]
    values = list(leaves)
    try:
        for _ in range(choose.randrange(3, 12)):
            _step(t, choose, values)
        found = _gradients(t, choose, values, leaves)
        names = [each.grad_fn and each.grad_fn.name() for each in values]
    except (RuntimeError, ValueError) as error:
        return [type(error).__name__, str(error)[:40]]
    return [*found, [each._version for each in values], [each.requires_grad for each in values], names]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.allclose(a, b, equal_nan=True)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("start", range(0, 2000, 200))
def test_programs(start: int) -> None:
    without_error = 0
    for seed in range(start, start + 200):
        ours, theirs = _run(mpigrad, seed), _run(torch, seed)
        assert len(ours) == len(theirs) and all(map(_same, ours, theirs)), (seed, ours, theirs)
        without_error += not isinstance(theirs[0], str)
    assert without_error > 20
