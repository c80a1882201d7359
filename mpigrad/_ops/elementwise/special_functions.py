"""Special functions: Bessel functions, incomplete gamma, zeta, and those of the normal distribution."""

# ruff: noqa: E501 (rows of a table read best on one line)

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._kernels import bessel, gammas, normal
from mpigrad._kernels.special import lgamma
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.binary import Binary, binary
from .._define.inplace import in_place
from .._define.operator import operator
from .._define.out import deliver
from .._define.unary import as_float, refuse_kinds, unary


def _entr(x: Any) -> Any:
    safe = np.where(x > 0, x, 1)
    made = np.where(x >= 0, -safe * np.log(safe), -math.inf)
    return np.where(np.isnan(x), x, made).astype(x.dtype)


def _i1_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    zero = x == 0
    safe = x + F.keep(x * 0 + 1, zero)
    slope = F.i0(x) - F.i1(x) / safe
    return g * (F.keep(slope, ~zero) + F.keep(x * 0 + 0.5, zero))


def _i1e_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    zero = x == 0
    safe = x + F.keep(x * 0 + 1, zero)
    slope = F.i0e(x) - F.i1e(x) * (F.sgn(x) + 1 / safe)
    return g * (F.keep(slope, ~zero) + F.keep(x * 0 + 0.5, zero))


i0 = unary("i0", bessel.i0, lambda F, node, g, x: g * F.i1(x), saves="input", to_float=True, refuse=refuse_kinds("c", "i0_cpu"),
           doc="The modified Bessel function of the first kind of order 0, of each element.")  # fmt: skip
i0e = unary("i0e", bessel.i0e, lambda F, node, g, x: g * (F.i1e(x) - F.sgn(x) * F.i0e(x)), saves="input", to_float=True,
            node="SpecialI0EBackward0", attach=False, doc="The modified Bessel function of order 0, divided by exp(|x|).")  # fmt: skip
i1 = unary("i1", bessel.i1, _i1_backward, saves="input", to_float=True, node="SpecialI1Backward0", attach=False,
           doc="The modified Bessel function of the first kind of order 1, of each element.")  # fmt: skip
i1e = unary("i1e", bessel.i1e, _i1e_backward, saves="input", to_float=True, node="SpecialI1EBackward0", attach=False,
            doc="The modified Bessel function of order 1, divided by exp(|x|).")  # fmt: skip
entr = unary("entr", _entr, lambda F, node, g, x: -g * (F.log(x) + 1), saves="input", to_float=True, node="SpecialEntrBackward0",
             attach=False, doc="-x * log(x) for each element x, its part of the entropy; 0 for 0 and -inf below.")  # fmt: skip
erfcx = unary("erfcx", normal.erfcx, lambda F, node, g, x: g * (F.erfcx(x) * x * 2 - 2 / math.sqrt(math.pi)), saves="input", to_float=True,
              node="SpecialErfcxBackward0", attach=False, doc="exp(x * x) * erfc(x).")  # fmt: skip
log_ndtr = unary("log_ndtr", normal.log_ndtr, lambda F, node, g, x: g / F.erfcx(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi), saves="input",
                 to_float=True, node="SpecialLogNdtrBackward0", attach=False, doc="The logarithm of the standard normal distribution function.")  # fmt: skip
ndtri = unary("ndtri", normal.ndtri, lambda F, node, g, y: g * F.exp(y * y * 0.5) * math.sqrt(2 * math.pi), saves="result", to_float=True,
              node="SpecialNdtriBackward0", attach=False, doc="The inverse of the standard normal distribution function.")  # fmt: skip


def _refused(what: str) -> None:
    raise NotImplementedError(f"the derivative for '{what}' is not implemented.")


def _igamma_backward(sign: int, name: str) -> Any:
    def backward(F: Any, node: Any, g: Any, a: Any, x: Any) -> Any:
        if node.needs[0]:
            _refused(f"{name}: input")
        return None, g * (F.exp((a - 1) * F.log(x) - x - F.lgamma(a)) * sign)

    return backward


def _zeta_backward(F: Any, node: Any, g: Any, x: Any, q: Any) -> Any:
    if node.needs[0]:
        _refused("zeta")
    return None, g * (-x * F.zeta(x + 1, q))


def _xlog1py(x: Any, y: Any) -> Any:
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log1p(y))


def _xlog1py_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    into_x = F.keep(g, ~((x == 0) & (y <= -1))) * F.log1p(y) if node.needs[0] else None
    return into_x, g * x / (y + 1) if node.needs[1] else None


IGAMMA = binary("igamma", gammas.lower, _igamma_backward(1, "igamma"), (0, 1), node="IgammaBackward0", to_float=True)
IGAMMAC = binary("igammac", gammas.upper, _igamma_backward(-1, "igammac"), (0, 1), node="IgammacBackward0", to_float=True)
ZETA = binary("zeta", gammas.zeta, _zeta_backward, (0, 1), node="SpecialZetaBackward0", to_float=True)
XLOG1PY = binary("xlog1py", _xlog1py, _xlog1py_backward, (0, 1), node="SpecialXlog1PyBackward0", to_float=True)


def _function(op: Binary, name: str, doc: str) -> Any:
    def call(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
        return deliver(op.general(input, other), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Either argument may be a number. `out`: a tensor to which the result is written."
    return call


igamma = _function(IGAMMA, "igamma", "The regularised lower incomplete gamma function P(input, other), element by element.")
igammac = _function(IGAMMAC, "igammac", "The regularised upper incomplete gamma function Q(input, other) = 1 - P(input, other), element by element.")
zeta = _function(ZETA, "zeta", "The Hurwitz zeta function: the sum over k = 0, 1, 2, ... of (other + k) ** -input, element by element.")
xlog1py = _function(XLOG1PY, "xlog1py", "input * log(1 + other), and 0 where `input` is 0, element by element.")


def _mvlgamma(x: Any, *, p: int) -> Any:
    made = lgamma(x)
    for j in range(1, p):
        made = made + lgamma(x - x.dtype.type(j / 2))
    return made + x.dtype.type(p * (p - 1) / 4 * math.log(math.pi))


def _mvlgamma_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    slope = F.digamma(x)
    for j in range(1, node.kw["p"]):
        slope = slope + F.digamma(x - j / 2)
    return g * slope


MVLGAMMA = operator("mvlgamma", _mvlgamma, _mvlgamma_backward, saves=(0,))


def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p` at each element, which must be above (p - 1)
    / 2. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.mvlgamma(mpigrad.tensor([2.0]), 2)
    tensor([0.4516])
    """
    need_tensors("mvlgamma", input=input)
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    return deliver(MVLGAMMA(as_float(input), p=p), out)


for _function_of_two in (igamma, igammac):
    method(_function_of_two)
    method(in_place(_function_of_two), _function_of_two.__name__ + "_")
method(mvlgamma)
method(in_place(mvlgamma), "mvlgamma_")

__all__ = ["i0", "igamma", "igammac", "mvlgamma"]
