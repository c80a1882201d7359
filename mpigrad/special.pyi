"""Special functions, under the names that they have in SciPy. Made by tools/stubs.py; do not edit."""

from collections.abc import Sequence
from mpigrad._array.dtype import dtype
from mpigrad._tensor import Tensor
from numpy import generic, ndarray
from typing import Any, TypeAlias

_Operand: TypeAlias = Tensor | ndarray[Any, Any] | generic | complex
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-x log(x), an element's part in the entropy."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One minus the error function."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x * x) * erfc(x)."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the error function."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)), the logistic function."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, exact for small x."""
def gammainc(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised lower incomplete gamma function."""
def gammaincc(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularised upper incomplete gamma function."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 0, divided by exp(|x|)."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of order 1, divided by exp(|x|)."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), exact for small x."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the normal distribution function."""
def log_softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """The logarithm of `softmax`."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), the inverse of sigmoid. With `eps`, x is limited to the range from eps to 1 - eps."""
def logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cumulative distribution function of the standard normal distribution."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the normal distribution function."""
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The `n`-th derivative of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Each element rounded to `decimals` digits after the point; halves go to the even neighbour."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def softmax(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Exponentials of the elements, divided by their sum along a dimension."""
def xlog1py(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """input * log1p(other), and 0 where input is 0."""
def xlogy(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
def zeta(input: Any, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The zeta function of Hurwitz: the sum of (other + k) ** -input."""

__all__ = ['digamma', 'entr', 'erf', 'erfc', 'erfcx', 'erfinv', 'exp2', 'expit', 'expm1', 'gammainc', 'gammaincc', 'gammaln', 'i0', 'i0e', 'i1', 'i1e', 'log1p', 'log_ndtr', 'log_softmax', 'logit', 'logsumexp', 'multigammaln', 'ndtr', 'ndtri', 'polygamma', 'psi', 'round', 'sinc', 'softmax', 'xlog1py', 'xlogy', 'zeta']
