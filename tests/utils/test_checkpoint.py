"""`utils.checkpoint`: the same gradients with less kept, and random numbers that come again."""

from __future__ import annotations

import pytest

import mpigrad
from mpigrad.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def test_gradients_are_the_same_and_the_function_runs_twice() -> None:
    runs = []
    weight = mpigrad.randn(30, 30, requires_grad=True)

    def function(x, *, scale):
        runs.append(1)
        return mpigrad.nn.functional.dropout((x @ weight).tanh() * scale, 0.5).exp()

    x = mpigrad.randn(20, 30, requires_grad=True)
    results = []
    for call in (function, lambda x, scale: checkpoint(function, x, scale=scale, use_reentrant=False)):
        mpigrad.manual_seed(3)
        out = call(x, scale=2.0)
        results.append([out.tolist(), *(g.tolist() for g in mpigrad.autograd.grad(out.sum(), [x, weight]))])
    assert results[0] == results[1]
    assert len(runs) == 3


def test_parameters_get_gradients_though_no_input_needs_one() -> None:
    layer = mpigrad.nn.Linear(2, 1)
    checkpoint(layer, mpigrad.ones(1, 2), use_reentrant=True).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1]]


def test_backward_twice_and_nothing_recorded_without_gradients() -> None:
    x = mpigrad.ones(2, requires_grad=True)
    y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    first = x.grad.clone()
    y.backward()
    assert x.grad.tolist() == (2 * first).tolist()
    with mpigrad.no_grad():
        assert not checkpoint(mpigrad.exp, x, use_reentrant=False).requires_grad


def test_sequential() -> None:
    layers = mpigrad.nn.Sequential(*(mpigrad.nn.Linear(3, 3) for _ in range(5)))
    x = mpigrad.randn(2, 3, requires_grad=True)
    plain = mpigrad.autograd.grad(layers(x).sum(), x)[0]
    assert mpigrad.autograd.grad(checkpoint_sequential(layers, 2, x, use_reentrant=False).sum(), x)[0].tolist() == plain.tolist()


def test_a_function_that_is_not_the_same_twice() -> None:
    runs = []

    def function(x):
        runs.append(1)
        return x.exp() if len(runs) == 1 else x[:1].exp()

    out = checkpoint(function, mpigrad.ones(2, requires_grad=True), use_reentrant=False)
    with pytest.raises(CheckpointError, match="have different metadata"):
        out.sum().backward()
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(mpigrad.exp, mpigrad.ones(1))
