"""`autograd.functional`: Jacobians, Hessians and products, against formulas done by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from mpigrad.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

F64 = mpigrad.float64


def vector(*values: float) -> mpigrad.Tensor:
    return mpigrad.tensor(values, dtype=F64)


def cubes(x: mpigrad.Tensor) -> mpigrad.Tensor:
    return (x * x * x).sum()


def test_jacobian_of_one() -> None:
    found = jacobian(lambda x: x.exp().sum(1), mpigrad.zeros(2, 3, dtype=F64))
    assert found.shape == (2, 2, 3) and not found.requires_grad
    assert np.array_equal(found.numpy(), np.eye(2)[:, :, None] * np.ones(3))


def test_jacobian_of_several() -> None:
    x, y = vector(1, 2), vector(3, 4)
    (ax, ay), (bx, by) = jacobian(lambda x, y: (x * y, y.sum()), (x, y))
    assert ax.tolist() == [[3, 0], [0, 4]] and ay.tolist() == [[1, 0], [0, 2]]
    assert bx.tolist() == [0, 0] and by.tolist() == [1, 1]
    assert x.grad is None and not x.requires_grad


def test_jacobian_of_nothing() -> None:
    assert jacobian(lambda x: x * 2, mpigrad.zeros(0, dtype=F64)).shape == (0, 0)


def test_jacobian_on_the_callers_graph() -> None:
    x = vector(1, 2).requires_grad_()
    found = jacobian(lambda x: x * x * x, x, create_graph=True)
    (second,) = mpigrad.autograd.grad(found.sum(), x)
    assert second.tolist() == [6.0, 12.0]


def test_hessian() -> None:
    x, y = vector(1, 2), vector(3, 4)
    assert hessian(cubes, x).tolist() == [[6, 0], [0, 12]]
    (xx, xy), (yx, yy) = hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert xx.tolist() == [[6, 0], [0, 8]] and xy.tolist() == yx.tolist() == [[2, 0], [0, 4]]
    assert yy.tolist() == [[0, 0], [0, 0]]


def test_products() -> None:
    x, v = vector(1, 2), vector(1, 10)
    out, product = vjp(lambda x: x * x, x, v)
    assert (out.tolist(), product.tolist()) == ([1, 4], [2, 40])
    out, product = jvp(lambda x: mpigrad.stack([x.sum(), (x * x).sum()]), x, v)
    assert (out.tolist(), product.tolist()) == ([3, 5], [11, 42])
    for product_with_hessian in (hvp, vhp):
        out, product = product_with_hessian(cubes, x, v)
        assert (out.item(), product.tolist()) == (9.0, [6, 120])


def test_products_of_several() -> None:
    x, y = vector(1, 2), vector(3, 4)
    out, (px, py) = vjp(lambda x, y: (x * y).sum(), (x, y))
    assert (px.tolist(), py.tolist()) == ([3, 4], [1, 2])
    (a, b), (pa, pb) = jvp(lambda x, y: (x * y, x), (x, y), (vector(1, 1), vector(0, 1)))
    assert (pa.tolist(), pb.tolist()) == ([3, 6], [1, 1])
    out, (hx, hy) = hvp(lambda x, y: (x * x * y).sum(), (x, y), (vector(1, 0), vector(0, 1)))
    assert (hx.tolist(), hy.tolist()) == ([6, 4], [2, 0])


def test_linear_and_constant_functions() -> None:
    x = vector(1, 2)
    assert hvp(lambda x: x.sum(), x, x)[1].tolist() == [0, 0]
    assert vhp(lambda x: (x * 3).sum(), x, x)[1].tolist() == [0, 0]
    assert jvp(lambda x: vector(1, 2, 3), x, x)[1].tolist() == [0, 0, 0]
    assert jacobian(lambda x: vector(1, 2), x).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "kind", "error"),
    [
        (
            lambda x: jacobian(lambda x: vector(1), x, strict=True),
            RuntimeError,
            "Output 0 of the user-provided function does not require",
        ),
        (
            lambda x: jacobian(lambda x, y: x, (x, x), strict=True),
            RuntimeError,
            "is independent of input 1. This is not allowed in strict",
        ),
        (lambda x: vjp(lambda x: x, x), RuntimeError, "The vector v can only be None if"),
        (
            lambda x: vjp(lambda x: x, x, vector(1)),
            RuntimeError,
            r"v has invalid size: should be mpigrad.Size\(\[2\]\) but got",
        ),
        (lambda x: vjp(lambda x: x, x, (x, x)), RuntimeError, "v is a tuple of invalid length: should be 1 but got 2."),
        (lambda x: hessian(lambda x: x, x), RuntimeError, "should contain a single element"),
        (
            lambda x: hvp(lambda x: (x.sum(),), x, x),
            RuntimeError,
            "The function given to hvp should return a single Tensor",
        ),
        (lambda x: jacobian(lambda x: 3, x), TypeError, "must be either a Tensor or a tuple of Tensors but"),
        (
            lambda x: jacobian(cubes, 3),
            TypeError,
            "The inputs given to jacobian must be either a Tensor or a tuple of Tensors",
        ),
    ],
)
def test_bad_calls(call: Any, kind: type[Exception], error: str) -> None:
    with pytest.raises(kind, match=error):
        call(vector(1, 2))
