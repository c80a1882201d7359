"""First and second derivatives of every differentiable operator of this family, against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad as T
from mpigrad.autograd import gradcheck, gradgradcheck


def leaf(*shape: int, phase: float = 0.0, low: float = -1.0, high: float = 1.0) -> Any:
    """Numbers between `low` and `high`, none close to another nor to a kink of the functions below."""
    wave = np.sin(np.arange(np.prod(shape, dtype=int), dtype="f8") * 1.7 + 1.1 + phase)
    return T.tensor(((wave + 1) / 2 * (high - low) + low).reshape(shape)).requires_grad_()


def positive(*shape: int) -> Any:
    return leaf(*shape, low=0.3, high=2.3)


SHAPES: list[tuple[int, ...]] = [(2, 3), (), (0, 3)]

UNARY = {
    **{name: (getattr(T, name), leaf) for name in (
        "abs", "asin", "acos", "asinh", "atan", "atanh", "cos", "cosh", "deg2rad", "erf", "erfc",
        "erfinv", "exp", "exp2",
        "expm1", "frac", "neg", "relu", "sigmoid", "sin", "sinc", "sinh", "square", "tan", "tanh",
        "selu", "celu", "nan_to_num",
    )},
    **{name: (getattr(T, name), positive) for name in (
        "digamma", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt",
    )},
    "acosh": (T.acosh, lambda *shape: leaf(*shape, low=1.3, high=3.0)),
    "logit": (T.logit, lambda *shape: leaf(*shape, low=0.1, high=0.9)),
    "gelu": (T.nn.functional.gelu, leaf),
    "gelu_tanh": (lambda x: T.nn.functional.gelu(x, approximate="tanh"), leaf),
    "softplus": (lambda x: T.nn.functional.softplus(x, 2.0, 1.0), leaf),
    "silu": (T.nn.functional.silu, leaf),
    "elu": (lambda x: T.nn.functional.elu(x, 0.7), leaf),
    "leaky_relu": (T.nn.functional.leaky_relu, leaf),
    "hardtanh": (lambda x: T.nn.functional.hardtanh(x, -0.55, 0.45), leaf),
    "logsigmoid": (T.nn.functional.logsigmoid, leaf),
    "clamp": (lambda x: x.clamp(-0.55, 0.45), leaf),
    "number_minus": (lambda x: 2.5 - x, leaf),
    "number_over": (lambda x: 2.5 / x, positive),
    "cube": (lambda x: x**3, leaf),
    "power": (lambda x: x**2.5, positive),
    "number_to_the": (lambda x: 1.5**x, leaf),
    "remainder": (lambda x: x % 0.7, leaf),
    "clone": (T.clone, leaf),
    "polygamma": (lambda x: T.polygamma(2, x), positive),
    "where": (lambda x: T.where(x > 0.2, x * x, 1.0), leaf),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, shape: tuple[int, ...]) -> None:
    function, make = UNARY[name]
    assert gradcheck(function, (make(*shape),))
    assert gradgradcheck(function, (make(*shape),))


BINARY = {
    "add": lambda x, y: T.add(x, y, alpha=2.5),
    "sub": lambda x, y: T.sub(x, y, alpha=0.5),
    "rsub": lambda x, y: T.rsub(x, y, alpha=0.5),
    "mul": T.mul,
    "div": T.div,
    "pow": lambda x, y: (x * x + 0.2) ** y,
    "maximum": T.maximum,
    "minimum": T.minimum,
    "fmax": T.fmax,
    "fmin": T.fmin,
    "atan2": T.atan2,
    "hypot": T.hypot,
    "xlogy": lambda x, y: T.xlogy(x, y * y),
    "logaddexp": T.logaddexp,
    "logaddexp2": T.logaddexp2,
    "copysign": T.copysign,
    "ldexp": T.ldexp,
    "lerp": lambda x, y: T.lerp(x, y, 0.3),
    "lerp_tensor": lambda x, y: T.lerp(x, y, y * x),
    "addcmul": lambda x, y: T.addcmul(x, y, x, value=0.5),
    "addcdiv": lambda x, y: T.addcdiv(x, y, x + 2, value=0.5),
    "clamp": lambda x, y: x.clamp(y, y + 0.4),
    "clamp_min": lambda x, y: x.clamp_min(y),
    "where": lambda x, y: T.where(x.detach() > 0, x, y),
    "fmod": lambda x, y: T.fmod(x, y + 3),
}
PAIRS = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (1,))]


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    first, second = leaf(*shapes[0]), leaf(*shapes[1], phase=0.6)
    assert gradcheck(BINARY[name], (first, second))
    assert gradgradcheck(BINARY[name], (first, second))


REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum_dim": lambda x: x.sum(0),
    "sum_keep": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean(),
    "mean_dim": lambda x: x.mean(-1),
    "prod": lambda x: x.prod(),
    "prod_dim": lambda x: x.prod(0),
    "prod_of_zeros": lambda x: (x * T.tensor([0.0, 1.0, 0.0], dtype=x.dtype)).prod(-1),
    "prod_of_a_zero": lambda x: (x * T.tensor([0.0, 1.0, 1.0], dtype=x.dtype)).prod(-1, keepdim=True),
    "prod_all_of_a_zero": lambda x: (x[0] * T.tensor([0.0, 1.0, 1.0], dtype=x.dtype)).prod(),
    "var": lambda x: x.var(),
    "var_dim": lambda x: x.var(0, correction=0),
    "std": lambda x: x.std(-1, keepdim=True),
    "var_mean": lambda x: T.var_mean(x, -1),
    "std_mean": lambda x: T.std_mean(x),
    "max": lambda x: x.max(),
    "max_dim": lambda x: x.max(-1).values,
    "min_dim": lambda x: x.min(0, keepdim=True)[0],
    "amax": lambda x: x.amax(-1),
    "aminmax": lambda x: T.aminmax(x, dim=0),
    "median": lambda x: x.median(),
    "median_dim": lambda x: x.median(-1).values,
    "logsumexp": lambda x: x.logsumexp(-1),
    "norm": lambda x: x.norm(),
    "norm_1": lambda x: x.norm(1, 0),
    "norm_3": lambda x: x.norm(3, -1, keepdim=True),
    "norm_inf": lambda x: x.norm(float("inf")),
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "cumprod_of_a_zero": lambda x: (x * T.tensor([1.0, 0.0, 1.0], dtype=x.dtype)).cumprod(-1),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "nansum": lambda x: x.nansum(0),
    "nanmean": lambda x: x.nanmean(),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
}


@pytest.mark.parametrize("shape", [(2, 3), (2, 2, 3)], ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, shape: tuple[int, ...]) -> None:
    assert gradcheck(REDUCTIONS[name], (leaf(*shape),))
    assert gradgradcheck(REDUCTIONS[name], (leaf(*shape),))


COMPLEX = {
    "mul": lambda z: z * z.conj(),
    "div": lambda z: z / (z + 2),
    "abs": T.abs,
    "angle": T.angle,
    "exp": T.exp,
    "log": T.log,
    "sqrt": T.sqrt,
    "tanh": T.tanh,
    "sin": T.sin,
    "reciprocal": T.reciprocal,
    "cube": lambda z: z**3,
    "sgn": T.sgn,
    "real": lambda z: z.real * 2,
    "imag": lambda z: z.imag * z.real,
    "pairs": lambda z: T.view_as_real(z) * 2,
    "sum": lambda z: z.sum(0),
    "prod": lambda z: z.prod(),
    "norm": lambda z: z.norm(),
    "to_complex": lambda z: T.complex(z.imag, z.real),
    "sigmoid": T.sigmoid,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str) -> None:
    z = T.complex(leaf(3).detach() + 0.2, leaf(3, phase=0.7).detach()).requires_grad_()
    assert gradcheck(COMPLEX[name], (z,))
    assert gradgradcheck(COMPLEX[name], (z,))


def test_distance() -> None:
    assert gradcheck(lambda x, y: T.dist(x, y, 3), (leaf(2, 3), leaf(3, phase=0.6)))
    assert gradgradcheck(lambda x, y: T.dist(x, y, 3), (leaf(2, 3), leaf(3, phase=0.6)))


def test_conversions_pass_gradients_on() -> None:
    x = leaf(2, 3)
    assert gradcheck(lambda x: x.float().double() * 2, (x,), eps=1e-3, atol=1e-2)
    assert gradcheck(lambda x: x.t().contiguous() * x.t(), (x,))
    assert gradcheck(lambda x: T.zeros(2, 3, dtype=T.float64).copy_(x) * x, (x,))
    assert gradcheck(lambda x: (x * 1).copy_(x[:, :1]) * x, (x,))


def test_equal_elements_share_the_gradient() -> None:
    x = T.tensor([1.0, 3.0, 3.0], requires_grad=True)
    for function, expected in (
        (T.amax, [0, 0.5, 0.5]),
        (T.max, [0, 0.5, 0.5]),
        (lambda x: x.max(0).values, [0, 1, 0]),
        (lambda x: T.maximum(x, T.tensor([3.0, 3.0, 0.0])).sum(), [0, 0.5, 1]),
        (lambda x: x.norm(float("inf")), [0, 0.5, 0.5]),
    ):
        (found,) = T.autograd.grad(function(x), x)
        assert found.tolist() == expected
