"""Variance and standard deviation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._kernels.reduction import add_reduce
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors
from .._define.dims import wrap_dims
from .._define.operator import RESULT, operator
from .._define.out import deliver
from .sums import Dims, count_of, kept_shape


def _freedom(shape: tuple[int, ...], dim: Dims, correction: float) -> float:
    return max(0.0, count_of(shape, dim) - correction)


def _moments(x: Any, dim: Dims, correction: float, keepdim: bool) -> tuple[Any, Any]:
    """Variance and mean, in two passes over the elements."""
    if x.dtype.itemsize == 2:
        high = _moments(x.astype("f4"), dim, correction, keepdim)
        return high[0].astype(x.dtype), high[1].astype(x.dtype)
    real = x.real.dtype.type
    axis = tuple(range(x.ndim)) if dim is None else dim
    if x.ndim == 0:
        x, axis = x.reshape(1), (0,)
        keepdim = False
    mean = add_reduce(x, axis=axis, keepdims=True) / real(count_of(x.shape, axis))
    away = x - mean
    squares = (away * away.conj()).real if x.dtype.kind == "c" else away * away
    total = add_reduce(squares, axis=axis, keepdims=keepdim)
    final = kept_shape(x.shape, axis) if keepdim else tuple(n for i, n in enumerate(x.shape) if i not in axis)
    free = _freedom(x.shape, axis, correction)
    return np.asarray(total / real(free)) if isinstance(total, np.generic) else total / real(free), mean.reshape(final)


def _var(x: Any, *, dim: Dims, correction: float, keepdim: bool) -> Any:
    return _moments(x, dim, correction, keepdim)[0]


def _std(x: Any, *, dim: Dims, correction: float, keepdim: bool) -> Any:
    return np.sqrt(_moments(x, dim, correction, keepdim)[0])


def _spread_kw(node: Any) -> dict[str, Any]:
    return {"shape": node.shapes[0], "dim": node.kw["dim"], "keepdim": node.kw["keepdim"]}


def _into_var(F: Any, node: Any, g: Any, x: Any) -> Any:
    kw = _spread_kw(node)
    free = _freedom(kw["shape"], kw["dim"], node.kw["correction"])
    mean = F.spread(F.mean_dim(x, dim=kw["dim"], keepdim=kw["keepdim"]), **kw)
    return F.spread(g, **kw) * (x - mean) * (2.0 / free if free else math.nan)


def _into_std(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    return _into_var(F, node, F.keep(g / (y * 2), y != 0), x)


def _into_mean(F: Any, node: Any, g: Any) -> Any:
    kw = _spread_kw(node)
    return F.spread(g / count_of(kw["shape"], kw["dim"]), **kw)


def _both(F: Any, node: Any, grads: Any, into_first: Any) -> Any:
    first, mean = grads
    if mean is None:
        return None if first is None else into_first(first)
    made = _into_mean(F, node, mean)
    return made if first is None else made + into_first(first)


VAR = operator("var", _var, _into_var, saves=(0,))
STD = operator("std", _std, _into_std, saves=(0, RESULT))
VAR_MEAN = operator(
    "var_mean",
    lambda x, *, dim, correction, keepdim: _moments(x, dim, correction, keepdim),
    lambda F, node, g, x: _both(F, node, g, lambda first: _into_var(F, node, first, x)),
    saves=(0,),
    node="VarMeanBackward0",
)


def _std_mean(x: Any, *, dim: Dims, correction: float, keepdim: bool) -> Any:
    variance, mean = _moments(x, dim, correction, keepdim)
    return np.sqrt(variance), mean


STD_MEAN = operator(
    "std_mean",
    _std_mean,
    lambda F, node, g, x, y: _both(F, node, g, lambda first: _into_std(F, node, first, x, y)),
    saves=(0, RESULT),
    node="StdMeanBackward0",
)


def _arguments(input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> dict[str, Any]:
    """Keyword arguments from the forms of `var`; `var(x, False)` and `var(x, dim, False)` are deprecated forms of `correction=0`.
    """
    need_tensors("var", input=input)
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    if input._array.dtype.kind not in "fcV":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return {
        "dim": wrap_dims(dim, input._array.ndim),
        "correction": 1 if correction is None else correction,
        "keepdim": keepdim,
    }


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance: the sum of squared differences from the mean, divided by the number of elements minus
    `correction` (default 1).

    `unbiased=False` is an older form of `correction=0`. `dim`: a dimension, or a tuple of several; by default all.
    `keepdim`: keep them with length 1. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.var(mpigrad.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return deliver(VAR(input, **_arguments(input, dim, unbiased, keepdim, correction)), out)


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation: the square root of `var`, whose arguments it has.

    >>> import mpigrad
    >>> mpigrad.std(mpigrad.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return deliver(STD(input, **_arguments(input, dim, unbiased, keepdim, correction)), out)


def var_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The tuple (variance, mean). The arguments are those of `var`."""
    return VAR_MEAN(input, **_arguments(input, dim, unbiased, keepdim, correction))


def std_mean(input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *,
             correction: float | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The tuple (standard deviation, mean). The arguments are those of `var`."""
    return STD_MEAN(input, **_arguments(input, dim, unbiased, keepdim, correction))


method(var)
method(std)

__all__ = ["std", "std_mean", "var", "var_mean"]
