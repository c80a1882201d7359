"""Special functions of mathematics, element by element, under the names that they have in SciPy. Made by tools/stubs.py; do not edit."""

from collections.abc import Sequence
from mpigrad._array.dtype import dtype
from mpigrad._tensor import Tensor
from numpy import generic, ndarray
from typing import Any, TypeAlias

_Operand: TypeAlias = Tensor | ndarray[Any, Any] | generic | complex
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma` at each element."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-x * log(x) for each element x, its part of the entropy; 0 for 0 and -inf below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function of each element."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x * x) * erfc(x)."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse error function of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-x)) of each element x."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1 for each element x, exact for small x."""
def gammainc(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
def gammaincc(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function Q(input, other) = 1 - P(input, other), element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function at each element."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0, of each element."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0, divided by exp(|x|)."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 1, of each element."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1, divided by exp(|x|)."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x) for each element x, exact for small x."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the standard normal distribution function."""
def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax` along `dim`, computed without overflow. `dtype`: convert the input to this type first (default: keep its type)."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid, element by element. With `eps`, x is first limited to the range from eps to 1 - eps. `out`: a tensor to which the result is written."""
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over the dimension (or dimensions) `dim`, without overflow. `keepdim`: keep them with length 1. `out`: a tensor to which the result is written."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p` at each element, which must be above (p - 1) / 2. `out`: a tensor to which the result is written."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cumulative distribution function of the standard normal distribution, of each element. `out`: a tensor to which the result is written."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the standard normal distribution function."""
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of the digamma function at each element, for n >= 0. `out`: a tensor to which the result is written."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of `lgamma` at each element."""
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` digits after the point (negative: before it); halves go to the even neighbour. `out`: a tensor to which the result is written."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi * x) / (pi * x) for each element x, and 1 for 0."""
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`. `dtype`: convert the input to this type first (default: keep its type)."""
def xlog1py(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * log(1 + other), and 0 where `input` is 0, element by element. Either argument may be a number. `out`: a tensor to which the result is written."""
def xlogy(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0. Either may be a number. `out`: a tensor to which the result is written."""
def zeta(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum over k = 0, 1, 2, ... of (other + k) ** -input, element by element. Either argument may be a number. `out`: a tensor to which the result is written."""

__all__ = ['digamma', 'entr', 'erf', 'erfc', 'erfcx', 'erfinv', 'exp2', 'expit', 'expm1', 'gammainc', 'gammaincc', 'gammaln', 'i0', 'i0e', 'i1', 'i1e', 'log1p', 'log_ndtr', 'log_softmax', 'logit', 'logsumexp', 'multigammaln', 'ndtr', 'ndtri', 'polygamma', 'psi', 'round', 'sinc', 'softmax', 'xlog1py', 'xlogy', 'zeta']
