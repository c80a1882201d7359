"""softmax and log_softmax; on arrays, they and their derivatives are computed by kernels (`mpigrad/_kernels`)."""

from __future__ import annotations

from typing import Any

from mpigrad._array.dtype import as_dtype, dtype
from mpigrad._graph.namespace import RAW
from mpigrad._kernels import softmax as kernels
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import wrap_dim
from .._define.operator import RESULT, operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype


def _softmax_backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    if F is RAW:
        return kernels.softmax_backward(g, y, dim=node.kw["dim"])
    inner = g * y
    return inner - y * F.sum_dim(inner, dim=(node.kw["dim"],), keepdim=True)


def _log_softmax_backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    if F is RAW:
        return kernels.log_softmax_backward(g, y, dim=node.kw["dim"])
    return g - F.exp(y) * F.sum_dim(g, dim=(node.kw["dim"],), keepdim=True)


SOFTMAX = operator("softmax", kernels.softmax, _softmax_backward, saves=(RESULT,))
LOG_SOFTMAX = operator(
    "log_softmax", kernels.log_softmax, _log_softmax_backward, saves=(RESULT,), node="LogSoftmaxBackward0"
)


def _prepared(name: str, input: Tensor, dim: int | None, kind: dtype | None) -> tuple[Tensor, int]:
    need_tensors(name, input=input)
    if dim is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    x = input if kind is None else to_dtype(input, as_dtype(kind))
    place = wrap_dim(dim, x._array.ndim)
    if x._array.dtype.kind not in "fcV":
        last = place == x._array.ndim - 1
        raise NotImplementedError(f"\"{name}_{'lastdim_' * last}kernel_impl\" not implemented for '{title(x._array)}'")
    return x, place


def softmax(input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None) -> Tensor:
    """Turn scores into probabilities: exp(x) divided by its sum along `dim`, so that the results along `dim` add up
    to 1.

    `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor to which the result is
    written.

    >>> import mpigrad
    >>> mpigrad.softmax(mpigrad.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    x, place = _prepared("softmax", input, dim, dtype)
    return deliver(SOFTMAX(x, dim=place), out)


def log_softmax(
    input: Tensor, dim: int | None = None, dtype: dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of `softmax` along `dim`, computed without overflow. `dtype`: convert the input to this type
    first (default: keep its type). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.log_softmax(mpigrad.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    x, place = _prepared("log_softmax", input, dim, dtype)
    return deliver(LOG_SOFTMAX(x, dim=place), out)


method(softmax)
method(log_softmax)

__all__ = ["log_softmax", "softmax"]
