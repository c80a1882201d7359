"""Functions of each element beside PyTorch: values, types, node names, gradients, errors."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mpigrad
from tests.support.beside import compare

torch = pytest.importorskip("torch")


def inputs(T: Any) -> dict[str, Any]:
    def leaf(*shape: int, phase: float = 0.0) -> Any:
        count = np.arange(np.prod(shape, dtype=int), dtype="f8")
        return T.from_numpy(np.sin(count * 1.7 + len(shape) + phase).reshape(shape)).requires_grad_()

    def ints(*values: int, kind: Any = None) -> Any:
        return T.tensor(values, dtype=kind)

    return {
        "x": leaf(2, 3), "y": leaf(2, 3, phase=0.5), "r": leaf(3), "c": leaf(2, 1), "s": leaf(), "e": leaf(0, 3),
        "f": leaf(2, 3).detach().float().requires_grad_(), "h": T.tensor([0.5, -2.0], dtype=T.float16),
        "i": ints(-7, 0, 3), "j": ints(2, 3, -4), "u": ints(1, 2, 255, kind=T.uint8), "b": T.tensor([True, False, True]),
        "q": ints(1, 2, 3, kind=T.int32), "o": T.tensor(2), "k": T.tensor(0.5, dtype=T.float64),
        "w": T.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0], dtype=T.float64),
        "z": T.complex(leaf(3).detach(), leaf(3, phase=1.0).detach()).requires_grad_(),
    }  # fmt: skip


ARITHMETIC = """
x + y | x - y | x * y | x / y | x + 1 | x - 1 | x * 2 | x / 2 | 1 + x | 1 - x | 2 * x | 1 / x | x + r | c * r | s * x | x / c | e + r | e * s
x + f | f * 2.5 | f + 1j | i + 1 | i + 1.5 | i / 2 | i * b | b + b | b * b | b - b | b - 1 | 1 - b | i - b | b + 1 | b / b | u + 300 | u + u | u - u | i / j | q + i | q + o | q * 2.5
f + k | f + s | i + k | h + f | h * 2 | h + k | x + z[:1] | z * z | z + 1 | z / z | z * x[0] | z - 2.5 | 1 / z | -x | -i | -b | -u | -z | +x | +b | x + 'a' | x - None | x * [1] | 'a' + x | x / {}
T.add(x, y, alpha=2) | T.add(x, 1, alpha=2.5) | T.sub(x, y, alpha=3) | T.add(i, 1, alpha=1.5) | T.add(b, b, alpha=True) | T.add(x, y, alpha=True) | T.add(x, 'a') | T.mul(2, x) | T.add(2, 3) | T.add(f, 1, alpha=1j)
T.div(x, y, rounding_mode='floor') | T.div(x, 0.3, rounding_mode='trunc') | T.div(i, j, rounding_mode='floor') | T.div(i, j, rounding_mode='trunc') | T.div(i, 2, rounding_mode='x') | T.rsub(x, y) | T.rsub(x, 2, alpha=2) | T.true_divide(i, 2) | x.subtract(y) | x.multiply(2) | x.divide(y)
x + T.ones(4) | x + T.ones(3, 2) | T.ones(2, 3, 4) * T.ones(3, 5) | x.detach() // 2 | x.detach() // y.detach() | i // j | i // 0 | i % 0 | 2 // x.detach() | x % 2 | x % y | 2 % x.detach() | i % j | i % 3 | -7 % j | x.fmod(y) | x.fmod(0.3) | i.fmod(j) | i.fmod(2) | T.remainder(x, -0.7) | w // 2 | w % 2 | u // 2 | x.detach().floor_divide(0.2)
x ** 2 | x ** 3 | x ** 0.5 | (x * x) ** 0.5 | x ** 0 | x ** -1 | x ** 1 | x ** 2.5 | (x * x + 1) ** y | 2 ** x | 0 ** x | 1.5 ** x | (-2) ** x | i ** 2 | i ** -1 | i ** 2.0 | i ** 0.5 | j ** j | 2 ** j | i ** u | b ** b | z ** 2 | z ** 3 | z ** 0.5 | z ** z | 2 ** z | x ** 'a' | 'a' ** x | f ** 2 | f ** k | T.float_power(i, 2) | T.pow(2, i) | T.pow(x, T.tensor(2)) | x[:0] ** 2
(x*0) ** y | (x * 0) ** 2 | (x*0) ** (y * 0) | q ** T.tensor([-1, 0, 2]) | T.tensor([1, -1, 2]) ** T.tensor([-1, -3, -2])
T.maximum(x, y) | T.minimum(x, y) | T.maximum(x, x * 1) | T.fmax(x, y) | T.fmin(x, x * 1) | T.maximum(x, r) | T.maximum(i, j) | T.maximum(f, x) | T.maximum(x, 1) | T.maximum(z, z) | T.fmax(w, w.flip(0)) | T.maximum(w, w.flip(0)) | T.maximum(b, ~b) | T.minimum(i, f[0])
x.clamp(-0.5, 0.5) | x.clamp(min=0.1) | x.clamp(max=0.1) | x.clamp(0.5, -0.5) | x.clamp() | x.clamp(y, y + 0.5) | x.clamp(max=r) | i.clamp(-2, 2) | i.clamp(0.5) | x.clamp_min(0.1) | x.clamp_max(0.2) | z.clamp(0, 1) | x.clip(0, 1) | w.clamp(0, 1) | x.clamp('a') | i.clamp(j) | x.clamp_min(y)
T.where(x > 0, x, y) | T.where(x > 0, x, 0) | T.where(x > 0, 1, 2) | T.where(x > 0, 1, 2.5) | T.where(x > 0, r, c) | T.where(x, x, y) | T.where(b)[0] + 0 | T.where(b, i, r) | T.where(b, f[0], r) | x.where(x > 0, y) | x.where(x > 0, 0.0) | T.where(b, 'a', i) | T.where(x > 0, T.ones(4), y) | T.where(b, b, False) | T.where(s > 0, x, y)
T.lerp(x, y, 0.3) | T.lerp(x, y, y) | T.lerp(x, y, s) | x.lerp(r, 0.7) | T.addcmul(x, x, y, value=2) | T.addcmul(x, r, c) | T.addcdiv(x, x, y, value=0.5) | T.addcdiv(x, r, c) | T.addcmul(i, i, j)
T.atan2(x, y) | T.atan2(i, j) | T.atan2(x, r) | T.hypot(x, y) | T.xlogy(x, y * y) | T.xlogy(x, 2) | T.xlogy(2, x * x) | T.xlogy(w, w) | T.logaddexp(x, y) | T.logaddexp(w, w) | T.logaddexp2(x, y) | T.copysign(x, y) | T.copysign(x, -1) | T.copysign(x, r) | T.heaviside(w, w) | T.ldexp(x, T.tensor([1, 2, 3])) | T.nextafter(x.detach(), y.detach()) | T.gcd(i, j) | T.lcm(i, j) | T.gcd(x, y) | T.hypot(i, j)
"""

UNARY = """
x.abs() | i.abs() | b.abs() | z.abs() | abs(x) | x.absolute() | w.abs() | x.sign() | i.sign() | b.sign() | z.sign() | z.sgn() | x.detach().sgn() | w.sign() | x.neg() | x.positive() | z.angle() | x.angle() | i.angle() | x.conj()
x.exp() | x.exp2() | x.expm1() | i.exp() | b.exp() | h.exp() | z.exp() | w.exp() | (x * x + 1).log() | x.log() | w.log() | i.log() | z.log() | (x * x).log2() | (x * x).log10() | (x * x).log1p() | T.log(2) | T.exp('a') | i.log2() | x.square() | i.square() | z.square()
(x * x).sqrt() | x.sqrt() | i.sqrt() | z.sqrt() | (x * x).rsqrt() | z.rsqrt() | x.reciprocal() | i.reciprocal() | z.reciprocal() | w.sqrt() | w.rsqrt() | w.reciprocal()
x.sin() | x.cos() | x.tan() | x.asin() | x.acos() | x.atan() | x.sinh() | x.cosh() | x.tanh() | x.asinh() | (x + 2.5).acosh() | x.atanh() | x.arcsin() | i.sin() | z.sin() | z.cos() | z.tan() | z.sinh() | z.cosh() | z.tanh() | z.asin() | z.acos() | z.atan() | z.asinh() | z.acosh() | z.atanh() | w.tanh() | w.sin() | x.sinc() | T.deg2rad(x) | x.rad2deg()
x.sigmoid() | i.sigmoid() | w.sigmoid() | (x * 100).sigmoid() | (f * 200).sigmoid() | z.sigmoid() | h.sigmoid() | x.logit() | x.logit(0.2) | x.erf() | x.erfc() | x.erfinv() | i.erf() | h.erf() | w.erf() | w.erfc() | (x * 9).erfc() | (x * x + 0.1).lgamma() | (x * x + 0.1).digamma() | T.polygamma(1, x * x + 0.5) | T.polygamma(2, x * x + 0.5) | w.erfinv() | f.erf() | z.erf()
x.floor() | x.ceil() | x.trunc() | x.round() | x.frac() | i.floor() | i.frac() | z.floor() | (x * 10).round() | x.round(decimals=1) | (x * 1000).round(decimals=-2) | i.round() | x.fix() | w.round() | b.floor() | w.nan_to_num() | w.nan_to_num(1.0, 2.0, 3.0) | x.nan_to_num() | T.tensor([0.5, 1.5, 2.5, -0.5]).round()
x.relu() | i.relu() | b.relu() | z.relu() | w.relu() | h.relu() | T.relu(x) | T.nn.functional.gelu(x) | T.nn.functional.gelu(f, approximate='tanh') | T.nn.functional.gelu(i) | T.nn.functional.gelu(x, approximate='x') | T.nn.functional.softplus(x) | T.nn.functional.softplus(x * 30, 2, 10) | T.nn.functional.silu(x) | T.nn.functional.silu(i) | T.nn.functional.elu(x) | T.nn.functional.elu(x, 0.5) | T.selu(x) | T.celu(x, 0.7) | T.nn.functional.leaky_relu(x) | T.nn.functional.leaky_relu(x, 1.5) | T.nn.functional.leaky_relu(x, -0.2) | T.nn.functional.hardtanh(x) | T.nn.functional.hardtanh(x, -0.2, 0.3) | T.nn.functional.relu6(x * 9) | T.nn.functional.logsigmoid(x * 50) | T.nn.functional.elu(i) | T.nn.functional.leaky_relu(i)
x.softmax(0) | x.softmax(-1) | x.log_softmax(1) | s.softmax(0) | s.log_softmax(0) | e.softmax(0) | e.softmax(1) | x.softmax(2) | i.softmax(0) | i.softmax(0, dtype=T.float32) | f.softmax(1, T.float64) | h.softmax(0) | T.softmax(x) | (x * 1000).softmax(1) | (x * 1000).log_softmax(1) | x.softmax(dim=1, dtype=T.float32)
T.complex(r, r) | T.complex(r, f[0]) | T.complex(i, i) | z.real | z.imag | r.real | r.imag | T.view_as_real(z) | T.view_as_complex(c.expand(2, 2).contiguous()) | T.view_as_complex(r) | T.polar(r * r, r) | T.view_as_real(r) | T.real(z) * 2
"""

COMPARISONS = """
x > y | x < 0 | x >= r | x <= y | x == x | x != y | i > 0 | i > 0.5 | i == 0 | b == True | u > -1 | z == z | z < 1 | z != 0 | x == 'a' | x != 'a' | x == None | x != None | x < 'a' | 1 > x | 1 == x | f == x | w == w | w != w | T.eq(x, y) | x.ge(0) | T.less(x, y) | x.greater_equal(y) | T.ne(i, j) | x > T.ones(4) | T.gt(x, 'a') | s > 0 | e > 0 | x.lt(np.float32(0.1)) | i < o
i & j | i | j | i ^ j | ~i | ~b | ~x | x & x | b & b | b | ~b | b ^ True | i << 1 | j >> 1 | 1 << T.tensor([1, 2]) | 6 & i | u & 3 | u ^ u | i & 1.5 | i & 'a' | T.bitwise_and(i, j) | T.bitwise_not(u) | T.logical_and(x, y) | T.logical_or(i, b) | T.logical_xor(x, b) | T.logical_not(x) | x.logical_not() | T.bitwise_or(x, x) | b & i
w.isnan() | w.isinf() | w.isfinite() | i.isnan() | i.isfinite() | T.isposinf(w) | T.isneginf(w) | T.signbit(w) | T.isreal(z) | z.isnan() | T.equal(x, x) | T.equal(x, y) | T.equal(x, r) | T.equal(x, f) | T.equal(x, 1) | T.allclose(x, x) | T.allclose(x, y) | T.allclose(x, f) | T.isclose(x, x + 1e-9) | T.isclose(w, w) | T.isclose(w, w, equal_nan=True) | T.isclose(x, y, rtol=-1) | T.isclose(i, j) | T.isclose(x, 1.0) | T.allclose(i, i)
"""

# Shell pipes cannot be told from the operator `|` by splitting, so that one is spelled here.
BITS = ["i | j", "b | ~b", "6 | i", "b | True"]


def cases(table: str) -> list[str]:
    return [each.strip() for line in table.strip().split("\n") for each in line.split(" | ")]


@pytest.mark.parametrize("expression", cases(ARITHMETIC))
def test_arithmetic(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)


@pytest.mark.parametrize("expression", cases(UNARY))
def test_unary(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)


@pytest.mark.parametrize("expression", [*cases(COMPARISONS), *BITS])
def test_comparisons(expression: str) -> None:
    compare(torch, mpigrad, expression, inputs)
