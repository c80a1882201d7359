"""Running sums, plain and of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from .._dtype import dtype
from .._tensor import Tensor, method
from ._arguments import need_tensors
from ._define import RESULT, operator
from ._dims import wrap_dim
from ._inplace import in_place
from ._out import deliver
from .products import _summable


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
    """Running sums along a dimension.

    >>> import mpigrad
    >>> mpigrad.cumsum(mpigrad.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 3., 6.])
    """
    need_tensors("cumsum", input=input)
    x = _summable(input, dtype)
    return deliver(CUMSUM(x, dim=wrap_dim(dim, x._array.ndim)), out)


def _logcumsumexp(x: Any, *, dim: int) -> Any:
    return x.copy() if x.ndim == 0 else np.logaddexp.accumulate(x, axis=dim)


def _logcumsumexp_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    """The gradient is summed on the side of its exponent, positive and negative parts apart, so that nothing overflows."""
    dim = node.kw["dim"]
    up = F.logcumsumexp_back(F.log(F.keep(g, g > 0)) - y, dim=dim)
    down = F.logcumsumexp_back(F.log(F.keep(-g, g < 0)) - y, dim=dim)
    return F.exp(up + x) - F.exp(down + x)


def _logcumsumexp_back(x: Any, *, dim: int) -> Any:
    xp = array_module(x)
    return xp.flip(_logcumsumexp(xp.flip(x, axis=dim), dim=dim), axis=dim) if x.ndim else x.copy()


def _logcumsumexp_back_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    dim = node.kw["dim"]
    up = F.logcumsumexp(F.log(F.keep(g, g > 0)) - y, dim=dim)
    down = F.logcumsumexp(F.log(F.keep(-g, g < 0)) - y, dim=dim)
    return F.exp(up + x) - F.exp(down + x)


LOGCUMSUMEXP = operator("logcumsumexp", _logcumsumexp, _logcumsumexp_backward, saves=(0, RESULT))
operator("logcumsumexp_back", _logcumsumexp_back, _logcumsumexp_back_backward, saves=(0, RESULT), node="LogcumsumexpBackward0")


def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """Running log(sum(exp(x))) along a dimension, without overflow.

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
