"""Functions of each element: exponentials, logarithms, roots, trigonometry, signs, rounding, error functions."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._kernels import special
from mpigrad._tensor import Tensor, method

from .._define.arguments import title
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .._define.unary import as_float, refuse_complex, refuse_kinds, unary

LN2, LN10 = math.log(2), math.log(10)


def _refuse_bool_abs(x: Tensor) -> None:
    if x._array.dtype.kind == "b":
        raise NotImplementedError(f"\"abs_cpu\" not implemented for '{title(x._array)}'")


def _sign(x: Any) -> Any:
    """-1, 0 or 1 for each element; 0 for nan."""
    if x.dtype.kind in "fV":
        return (x > 0).astype(x.dtype) - (x < 0)
    return x.copy() if x.dtype.kind == "b" else np.sign(x)


def _sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), computed without overflow of exp."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    made = np.negative(x)
    limit = 88.0 if x.dtype.itemsize == 4 else 709.0 if x.dtype.itemsize == 8 else 11.0
    if made.__class__ is not np.ndarray:
        return 1 / (1 + np.exp(np.minimum(made, made.dtype.type(limit))))
    np.minimum(made, made.dtype.type(limit), out=made)
    np.exp(made, made)
    made += 1
    return np.reciprocal(made, made)


def _rsqrt(x: Any) -> Any:
    return np.reciprocal(np.sqrt(x))


def _sinc(x: Any) -> Any:
    return array_module(x).sinc(x)


def _square(x: Any) -> Any:
    return x.astype(np.int64) if x.dtype == np.bool_ else x * x


def _square_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    x = F.conj(x)
    return g * (x + x)


def _tanh_raw(g: Any, y: Any) -> Any:
    slope = 1 - y * y
    slope *= g
    return slope


def _sigmoid_raw(g: Any, y: Any) -> Any:
    slope = 1 - y  # exact, also where y is almost one
    slope *= y
    slope *= g
    return slope


def _sgn_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    if F.is_complex(x):
        size = F.abs(x)
        turned = g / size
        unit = x / size
        return turned - unit * F.real(turned * F.conj(unit))
    return g * 0


def _acosh_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    if F.is_complex(x):
        return g * F.conj(F.rsqrt(x - 1) * F.rsqrt(x + 1))
    return g * F.rsqrt(x * x - 1)


def _sinc_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    px = x * math.pi
    slope = (F.cos(px) * px - F.sin(px)) / (px * x)
    return F.keep(g * slope, x != 0)


sgn = unary("sgn", _sign, _sgn_backward, saves="input", doc="The sign of each element; of complex ones, z / |z|.")
abs = unary("abs", np.abs, lambda F, node, g, x: g * F.sgn(x), raw=lambda g, x: g * _sign(x), saves="input", refuse=_refuse_bool_abs,
            doc="The absolute value of each element.", aliases=("absolute",))  # fmt: skip
absolute = abs
method(abs, "__abs__")
sign = unary("sign", _sign, lambda F, node, g: g * 0, refuse=refuse_complex(
    "Unlike NumPy, mpigrad.sign is not intended to support complex numbers. Please use mpigrad.sgn instead."),
    doc="The sign of each element: -1, 0 or 1.")  # fmt: skip
exp = unary(
    "exp",
    np.exp,
    lambda F, node, g, y: g * F.conj(y),
    raw=np.multiply,
    saves="result",
    to_float=True,
    doc="e to the power of each element.",
)
exp2 = unary("exp2", np.exp2, lambda F, node, g, y: g * F.conj(y) * LN2, saves="result", to_float=True,
             doc="2 to the power of each element.")  # fmt: skip
expm1 = unary("expm1", np.expm1, lambda F, node, g, y: g * (F.conj(y) + 1), saves="result", to_float=True,
              doc="exp(x) - 1 for each element x, exact for small x.")  # fmt: skip
log = unary(
    "log",
    np.log,
    lambda F, node, g, x: g / F.conj(x),
    raw=np.divide,
    saves="input",
    to_float=True,
    doc="The natural logarithm of each element.",
)
log2 = unary("log2", np.log2, lambda F, node, g, x: g / (F.conj(x) * LN2), saves="input", to_float=True,
             doc="The logarithm to base 2 of each element.")  # fmt: skip
log10 = unary("log10", np.log10, lambda F, node, g, x: g / (F.conj(x) * LN10), saves="input", to_float=True,
              doc="The logarithm to base 10 of each element.")  # fmt: skip
log1p = unary("log1p", np.log1p, lambda F, node, g, x: g / (F.conj(x) + 1), saves="input", to_float=True, node="Log1PBackward0",
              doc="log(1 + x) for each element x, exact for small x.")  # fmt: skip
sqrt = unary(
    "sqrt",
    np.sqrt,
    lambda F, node, g, y: g / (F.conj(y) * 2),
    saves="result",
    to_float=True,
    doc="The square root of each element.",
)
rsqrt = unary("rsqrt", _rsqrt, lambda F, node, g, y: g * F.conj(y * y * y) * -0.5, saves="result", to_float=True,
              doc="One over the square root of each element.")  # fmt: skip
square = unary("square", _square, _square_backward, raw=lambda g, x: g * (x + x), saves="input", node="PowBackward0",
               doc="The square of each element.")  # fmt: skip

sin = unary(
    "sin",
    np.sin,
    lambda F, node, g, x: g * F.cos(F.conj(x)),
    raw=lambda g, x: g * np.cos(x),
    saves="input",
    to_float=True,
    doc="The sine of each element, an angle in radians.",
)
cos = unary(
    "cos",
    np.cos,
    lambda F, node, g, x: -g * F.sin(F.conj(x)),
    raw=lambda g, x: -g * np.sin(x),
    saves="input",
    to_float=True,
    doc="The cosine of each element, an angle in radians.",
)
tan = unary(
    "tan",
    np.tan,
    lambda F, node, g, y: g * F.conj(y * y + 1),
    saves="result",
    to_float=True,
    doc="The tangent of each element, an angle in radians.",
)
asin = unary("asin", np.arcsin, lambda F, node, g, x: g * F.conj(F.rsqrt(1 - x * x)), saves="input", to_float=True,
             doc="The inverse sine of each element, in radians.", aliases=("arcsin",))  # fmt: skip
acos = unary("acos", np.arccos, lambda F, node, g, x: -g * F.conj(F.rsqrt(1 - x * x)), saves="input", to_float=True,
             doc="The inverse cosine of each element, in radians.", aliases=("arccos",))  # fmt: skip
atan = unary("atan", np.arctan, lambda F, node, g, x: g / F.conj(x * x + 1), saves="input", to_float=True,
             doc="The inverse tangent of each element, in radians.", aliases=("arctan",))  # fmt: skip
sinh = unary(
    "sinh",
    np.sinh,
    lambda F, node, g, x: g * F.cosh(F.conj(x)),
    saves="input",
    to_float=True,
    doc="The hyperbolic sine of each element.",
)
cosh = unary(
    "cosh",
    np.cosh,
    lambda F, node, g, x: g * F.sinh(F.conj(x)),
    saves="input",
    to_float=True,
    doc="The hyperbolic cosine of each element.",
)
tanh = unary(
    "tanh",
    np.tanh,
    lambda F, node, g, y: g * F.conj(1 - y * y),
    raw=_tanh_raw,
    saves="result",
    to_float=True,
    doc="The hyperbolic tangent of each element.",
)
asinh = unary("asinh", np.arcsinh, lambda F, node, g, x: g * F.conj(F.rsqrt(x * x + 1)), saves="input", to_float=True,
              doc="The inverse hyperbolic sine of each element.", aliases=("arcsinh",))  # fmt: skip
acosh = unary("acosh", np.arccosh, _acosh_backward, saves="input", to_float=True,
              doc="The inverse hyperbolic cosine of each element.", aliases=("arccosh",))  # fmt: skip
atanh = unary("atanh", np.arctanh, lambda F, node, g, x: g / F.conj(1 - x * x), saves="input", to_float=True,
              doc="The inverse hyperbolic tangent of each element.", aliases=("arctanh",))  # fmt: skip
sinc = unary("sinc", _sinc, _sinc_backward, saves="input", to_float=True, doc="sin(pi * x) / (pi * x) for each element x, and 1 for 0.")
sigmoid = unary("sigmoid", _sigmoid, lambda F, node, g, y: g * F.conj((1 - y) * y), raw=_sigmoid_raw, saves="result", to_float=True,
                doc="The logistic function 1 / (1 + exp(-x)) of each element x.")  # fmt: skip

erf = unary("erf", special.erf, lambda F, node, g, x: g * F.exp(-x * x) * (2 / math.sqrt(math.pi)), saves="input", to_float=True,
            doc="The error function of each element.", refuse=refuse_kinds("c", "erf_vml_cpu"))  # fmt: skip
erfc = unary("erfc", special.erfc, lambda F, node, g, x: g * F.exp(-x * x) * (-2 / math.sqrt(math.pi)), saves="input", to_float=True,
             doc="One minus the error function of each element.", refuse=refuse_kinds("c", "erfc_vml_cpu"))  # fmt: skip
erfinv = unary("erfinv", special.erfinv, lambda F, node, g, y: g * F.exp(y * y) * (math.sqrt(math.pi) / 2), saves="result",
               to_float=True, doc="The inverse error function of each element.", refuse=refuse_kinds("c", "erfinv_vml_cpu"))  # fmt: skip
lgamma = unary("lgamma", special.lgamma, lambda F, node, g, x: g * F.digamma(x), saves="input", to_float=True,
               doc="The logarithm of the absolute value of the gamma function at each element.", refuse=refuse_kinds("c", "lgamma_vml_cpu"))  # fmt: skip
digamma = unary("digamma", special.digamma, lambda F, node, g, x: g * F.polygamma(x, n=1), saves="input", to_float=True,
                doc="The derivative of `lgamma` at each element.", refuse=refuse_kinds("c", "digamma"))  # fmt: skip
POLYGAMMA = operator("polygamma", lambda x, *, n: special.polygamma(n, x),
                     lambda F, node, g, x: g * F.polygamma(x, n=node.kw["n"] + 1), saves=(0,))  # fmt: skip


def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of the digamma function at each element, for n >= 0. `out`: a tensor to which the result
    is written.

    >>> import mpigrad
    >>> mpigrad.polygamma(1, mpigrad.tensor([1.0]))
    tensor([1.6449])
    """
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n, got {n}")
    return deliver(POLYGAMMA(as_float(input), n=n), out)


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


method(_polygamma_method, "polygamma")
method(in_place(_polygamma_method), "polygamma_")
deg2rad = unary("deg2rad", lambda x: x * x.dtype.type(math.pi / 180), lambda F, node, g: g * (math.pi / 180), to_float=True,
                node="Deg2RadBackward0", doc="Angles in degrees as radians.", refuse=refuse_kinds("c", "deg2rad"))  # fmt: skip
rad2deg = unary("rad2deg", lambda x: x * x.dtype.type(180 / math.pi), lambda F, node, g: g * (180 / math.pi), to_float=True,
                node="Rad2DegBackward0", doc="Angles in radians as degrees.", refuse=refuse_kinds("c", "rad2deg"))  # fmt: skip
arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh

__all__ = [
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh",
    "atan", "atanh", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "lgamma", "log",
    "log10", "log1p", "log2", "polygamma", "rad2deg", "rsqrt", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "sqrt",
    "square", "tan", "tanh",
]  # fmt: skip
