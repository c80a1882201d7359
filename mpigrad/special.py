"""Special functions of mathematics, element by element, under the names that they have in SciPy."""

from __future__ import annotations

import math
from typing import Any

from ._array.dtype import dtype as Dtype
from ._ops._define.arguments import need_tensors
from ._ops._define.out import deliver
from ._ops._define.unary import as_float
from ._ops.elementwise.functions import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    lgamma,
    log1p,
    polygamma,
    sigmoid,
    sinc,
)
from ._ops.elementwise.multi_operand import xlogy
from ._ops.elementwise.rounding import round
from ._ops.elementwise.special_functions import (
    entr,
    erfcx,
    i0,
    i0e,
    i1,
    i1e,
    igamma,
    igammac,
    log_ndtr,
    mvlgamma,
    ndtri,
    xlog1py,
    zeta,
)
from ._ops.nn.activation import logit
from ._ops.nn.softmax import log_softmax as _log_softmax
from ._ops.nn.softmax import softmax as _softmax
from ._ops.reduce.norms import logsumexp
from ._tensor import Tensor

expit, psi, gammaln, multigammaln, gammainc, gammaincc = sigmoid, digamma, lgamma, mvlgamma, igamma, igammac


def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The cumulative distribution function of the standard normal distribution, of each element. `out`: a tensor to
    which the result is written.

    >>> import mpigrad
    >>> mpigrad.special.ndtr(mpigrad.tensor([0.0]))
    tensor([0.5000])
    """
    need_tensors("special_ndtr", input=input)
    return deliver((erf(as_float(input) * math.sqrt(0.5)) + 1) * 0.5, out)


def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Any:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`. `dtype`: convert the input to this type
    first (default: keep its type).

    >>> import mpigrad
    >>> mpigrad.special.softmax(mpigrad.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Any:
    """The logarithm of `softmax` along `dim`, computed without overflow. `dtype`: convert the input to this type
    first (default: keep its type).

    >>> import mpigrad
    >>> mpigrad.special.log_softmax(mpigrad.zeros(2), 0)
    tensor([-0.6931, -0.6931])
    """
    return _log_softmax(input, dim, dtype=dtype)


__all__ = [
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
