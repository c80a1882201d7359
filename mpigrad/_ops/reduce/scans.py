"""Running sums of elements (cumsum) and of exponentials (logcumsumexp)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.dtype import dtype
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.dims import wrap_dim
from .._define.inplace import in_place
from .._define.operator import RESULT, operator
from .._define.out import deliver
from .products import _summable
from .running import running


def _cumsum(x: Any, *, dim: int, reverse: bool = False) -> Any:
    if x.ndim == 0:
        return x.copy()
    xp = array_module(x)
    if not reverse:
        return xp.cumsum(x, axis=dim, dtype=x.dtype)
    return xp.flip(xp.cumsum(xp.flip(x, axis=dim), axis=dim, dtype=x.dtype), axis=dim)


def _cumsum_backward(F: Any, node: Any, g: Any) -> Any:
    return F.cumsum(g, dim=node.kw["dim"], reverse=not node.kw.get("reverse", False))


CUMSUM = operator("cumsum", _cumsum, _cumsum_backward)


def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running sums along `dim`: result i is the sum of the elements 0 to i. `dtype`: convert the input to this type
    first (default: keep its type). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cumsum(mpigrad.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    need_tensors("cumsum", input=input)
    x = _summable(input, dtype)
    return deliver(CUMSUM(x, dim=wrap_dim(dim, x._array.ndim)), out)


def _logcumsumexp(x: Any, *, dim: int) -> Any:
    return x.copy() if x.ndim == 0 else running(np.logaddexp, x, dim)


def _logcumsumexp_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    """The derivative of logcumsumexp, without overflow.

    Exponents of the same sign are summed together: positive and negative parts of the gradient apart.
    """
    dim = node.kw["dim"]
    if F is not RAW:
        return _logcumsumexp_recorded(g, x, y, dim)
    up = _logcumsumexp_back(F.log(F.keep(g, g > 0)) - y, dim=dim)
    down = _logcumsumexp_back(F.log(F.keep(-g, g < 0)) - y, dim=dim)
    return F.exp(up + x) - F.exp(down + x)


def _logcumsumexp_recorded(g: Tensor, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """The sum over j >= i of g[j] * exp(x[i] - y[j]), computed pair by pair, so that it can be differentiated again.

    No exponent is above 0, and no derivative is lost where the sign of `g` would split it.
    """
    if x._array.ndim == 0:
        return g
    length, trailing = x._array.shape[dim], (1,) * (x._array.ndim - dim - 1)
    earlier = array_module(x._array).tri(length, k=-1, dtype=bool).reshape(length, length, *trailing)
    pairs = (x.unsqueeze(dim + 1) - y.unsqueeze(dim)).masked_fill(wrap(earlier), -math.inf)
    return (pairs.exp() * g.unsqueeze(dim)).sum(dim + 1)


def _logcumsumexp_back(x: Any, *, dim: int) -> Any:
    xp = array_module(x)
    return xp.flip(_logcumsumexp(xp.flip(x, axis=dim), dim=dim), axis=dim) if x.ndim else x.copy()


LOGCUMSUMEXP = operator("logcumsumexp", _logcumsumexp, _logcumsumexp_backward, saves=(0, RESULT))


def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """Running log(sum(exp(x))) along `dim`, computed without overflow. `out`: a tensor to which the result is
    written.

    >>> import mpigrad
    >>> mpigrad.logcumsumexp(mpigrad.zeros(2), dim=0)
    tensor([0.0000, 0.6931])
    """
    need_tensors("logcumsumexp", input=input)
    return deliver(LOGCUMSUMEXP(input, dim=wrap_dim(dim, input._array.ndim)), out)


for _fn in (cumsum, logcumsumexp):
    method(_fn)
method(in_place(cumsum), "cumsum_")

__all__ = ["cumsum", "logcumsumexp"]
