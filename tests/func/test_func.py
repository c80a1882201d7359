"""Functions of functions: derivatives inside each other, batches, modules with other parameters."""

from __future__ import annotations

from typing import Any

import pytest

import mpigrad
from mpigrad.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap


def numbers(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=mpigrad.float64)


def test_derivatives_of_any_order() -> None:
    third = grad(grad(grad(lambda x: x**4)))
    found = third(mpigrad.tensor(2.0))
    assert found.item() == 48.0 and not found.requires_grad
    assert hessian(lambda x: (x**3).sum())(numbers(1, 2)).tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_an_outer_backward_follows() -> None:
    x = numbers(1, 2).requires_grad_()
    grad(lambda v: (v**3).sum())(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6.0, 12.0]
    w = numbers(3).requires_grad_()
    grad(lambda v: (v * w).sum())(numbers(2)).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1.0]


def test_nests_of_arguments() -> None:
    found, (value, aux) = grad_and_value(lambda p, k: ((p["a"] * p["b"][0] * k).sum(), k), has_aux=True)(
        {"a": numbers(1, 2), "b": [numbers(3)]}, 2
    )
    assert found["a"].tolist() == [6.0, 6.0] and found["b"][0].tolist() == [6.0]
    assert value.item() == 18.0 and aux == 2
    first, second = grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(numbers(2), numbers(5))
    assert (first.item(), second.item()) == (5.0, 2.0)


def test_products_with_jacobians() -> None:
    function = lambda x: (x[0] * x, x.sum())
    x = numbers(2, 3)
    matrix, row = jacrev(function)(x)
    assert matrix.tolist() == [[4.0, 0.0], [3.0, 2.0]] and row.tolist() == [1.0, 1.0]
    assert jacfwd(lambda x: x[0] * x)(x).tolist() == matrix.tolist()
    _, back = vjp(function, x)
    assert back((numbers(1, 1), mpigrad.tensor(0.0, dtype=mpigrad.float64)))[0].tolist() == [7.0, 2.0]
    value, along = jvp(function, (x,), (numbers(0, 1),))
    assert along[0].tolist() == [0.0, 2.0] and along[1].item() == 1.0
    assert not along[0].requires_grad and value[0].tolist() == [4.0, 6.0]


def test_batches() -> None:
    a, b = mpigrad.arange(6.0).reshape(3, 2), mpigrad.ones(2)
    assert vmap(mpigrad.dot, in_dims=(0, None))(a, b).tolist() == [1.0, 5.0, 9.0]
    assert vmap(lambda x: x * 2, in_dims=1, out_dims=1)(a).tolist() == (a * 2).tolist()
    each = vmap(grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(b, a)
    assert each.tolist() == [[0.0, 2.0], [20.0, 30.0], [72.0, 90.0]]
    a.requires_grad_()
    vmap(lambda x: (x**2).sum())(a).sum().backward()
    assert a.grad is not None and a.grad.tolist() == (2 * a).tolist()


def test_random_numbers_in_batches() -> None:
    draw = lambda x: x + mpigrad.rand(())
    x = mpigrad.zeros(3)
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(draw)(x)
    assert vmap(draw, randomness="same")(x).unique().numel() == 1
    assert vmap(draw, randomness="different")(x).unique().numel() == 3


WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda x: grad(lambda v: v * 2)(x), RuntimeError, "return a scalar Tensor, got tensor with 1 dims"),
    (lambda x: grad(lambda v: 3)(x), RuntimeError, "return a Tensor, got <class 'int'>"),
    (lambda x: grad(lambda v: v.sum(), argnums=2)(x), RuntimeError, "Got argnum=2, but only 1 positional inputs"),
    (lambda x: jvp(lambda v: v, x, x), RuntimeError, "Expected primals to be a tuple"),
    (lambda x: jvp(lambda v: v, (x,), (mpigrad.ones(3),)), RuntimeError, "a different size than that of the original"),
    (lambda x: vmap(lambda v: 3)(x), ValueError, "must only return Tensors"),
    (lambda x: vmap(lambda v: v, in_dims=5)(x), ValueError, "expected in_dim to satisfy -1 <= in_dim < 1"),
    (lambda x: vmap(lambda v: v, in_dims=(0, 0))(x), ValueError, "not compatible with the structure"),
    (lambda x: vmap(lambda v, w: v)(x, mpigrad.ones(3)), ValueError, r"got sizes \[2, 3\]"),
    (lambda x: vmap(lambda v: v)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
    (lambda x: vmap(lambda v: v, out_dims=None)(x), ValueError, "can not return a BatchedTensor when out_dim is None"),
    (lambda x: functional_call(mpigrad.nn.Linear(2, 1), {"wait": x}, x), KeyError, "is not a parameter or buffer of Linear"),
]


@pytest.mark.parametrize(("call", "kind", "text"), WRONG)
def test_refused(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call(mpigrad.tensor([1.0, 2.0]))


def test_modules_with_other_parameters() -> None:
    model = mpigrad.nn.Sequential(mpigrad.nn.Linear(2, 2), mpigrad.nn.Linear(2, 1))
    own = {name: each.detach() for name, each in model.named_parameters()}
    x = mpigrad.ones(3, 2)
    loss = lambda params: functional_call(model, params, (x,)).pow(2).mean()
    found = grad(loss)(own)
    model(x).pow(2).mean().backward()
    for name, each in model.named_parameters():
        assert each.grad is not None and mpigrad.allclose(found[name], each.grad)
    before = model[0].weight
    functional_call(model, {"0.weight": mpigrad.zeros(2, 2)}, x)
    assert model[0].weight is before
