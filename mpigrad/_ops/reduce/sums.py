"""Sums and means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.dtype import as_dtype, dtype, int64
from mpigrad._core.node import record_one
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import RAW, add_to_both
from mpigrad._kernels.reduction import add_reduce, sum_of_all
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.binary import F32, F64, PLAIN, ndarray
from .._define.dims import wrap_dims
from .._define.operator import Operator, as_array, operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype

Dims = tuple[int, ...] | None
_LARGE = 1 << 14  # elements; smaller gradients are copied, which costs little


def kept_shape(shape: tuple[int, ...], dim: Dims) -> tuple[int, ...]:
    """The shape after reducing `dim` (None: all) to length one."""
    return tuple(1 if dim is None or i in dim else length for i, length in enumerate(shape))


def spread_raw(g: Any, *, shape: tuple[int, ...], dim: Dims = None, keepdim: bool = False) -> Any:
    """Broadcast the reduced array `g` back to `shape`, along the dimensions `dim` (None: all) that were reduced; a
    copy.
    """
    made = (np if g.__class__ is ndarray else array_module(g)).empty(shape, g.dtype)
    made[...] = g if keepdim or dim is None else g.reshape(kept_shape(shape, dim))
    return made


operator(
    "spread",
    spread_raw,
    lambda F, node, g: F.sum_dim(g, dim=node.kw.get("dim"), keepdim=node.kw.get("keepdim", False)),
    node="ExpandBackward0",
)


def _spread_for(F: Any, node: Any, g: Any, **kw: Any) -> Any:
    """The gradient of a sum's input. On the host, if the node below only multiplies, a large gradient is a view with stride 0."""
    shape = node.shapes[0]
    # A node that multiplies reads its gradient once and makes a new array, so that a view without memory of its own
    # is enough. Other nodes may pass the array on, and it would be written to later.
    if F is RAW and node.edges[0][0].multiplies and math.prod(shape) >= _LARGE and array_module(g) is np:
        g, dim = as_array(g), kw.get("dim")
        return F.expand(g if kw.get("keepdim") or dim is None else g.reshape(kept_shape(shape, dim)), shape=shape)
    return F.spread(g, shape=shape, **kw)


def _sum_dim(x: Any, *, dim: Dims, keepdim: bool) -> Any:
    if x.ndim == 0:
        return x.copy()
    return add_reduce(x, axis=dim, keepdims=keepdim, dtype=x.dtype)


def _sum_all(x: Any) -> Any:
    if x.__class__ is ndarray:
        return sum_of_all(x)
    return add_reduce(x, axis=None, dtype=x.dtype)


def _spread_back(F: Any, node: Any, g: Any) -> Any:
    return _spread_for(F, node, g, **node.kw)


def _mean_all(x: Any) -> Any:
    # half precision: the sum would overflow at 65504, and lose digits long before
    if x.dtype.itemsize == 2:
        return (add_reduce(x, axis=None, dtype="f4") / np.float32(x.size)).astype(x.dtype)
    if x.__class__ is ndarray:
        return sum_of_all(x) / x.dtype.type(x.size)
    return add_reduce(x, axis=None) / x.dtype.type(x.size)


def count_of(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements each result of a reduction over `dim` (None: all) of an array of this shape combines."""
    count = 1
    for i, length in enumerate(shape):
        if dim is None or i in dim:
            count *= length
    return count


def _mean_dim(x: Any, *, dim: Dims, keepdim: bool) -> Any:
    count = count_of(x.shape, dim)
    if x.dtype.itemsize == 2:
        return (_sum_dim(x.astype("f4"), dim=dim, keepdim=keepdim) / np.float32(count)).astype(x.dtype)
    return _sum_dim(x, dim=dim, keepdim=keepdim) / x.dtype.type(count)


def _mean_back(F: Any, node: Any, g: Any) -> Any:
    shape = node.shapes[0]
    return _spread_for(F, node, g / (count_of(shape, node.kw.get("dim")) or 1), **node.kw)


SUM_ALL = operator("sum_all", _sum_all, _spread_for, node="SumBackward0")
SUM_DIM = operator("sum_dim", _sum_dim, _spread_back, node="SumBackward1")
MEAN_ALL = operator("mean_all", _mean_all, _mean_back, node="MeanBackward0")
MEAN_DIM = operator("mean_dim", _mean_dim, _mean_back, node="MeanBackward1")
add_to_both("sum", SUM_DIM.forward, SUM_DIM)


_NO_KW: dict[str, Any] = {}


def _quick(op: Operator, x: Tensor, kw: dict[str, Any]) -> Tensor | None:
    """The reduction of a dense float tensor on the CPU; None for other inputs."""
    if x.__class__ not in PLAIN or TRACING.detour:
        return None
    array = x._array
    kind = array.__class__ is ndarray and array.dtype
    if kind is not F32 and kind is not F64:
        return None
    made = op.forward(array, **kw) if kw else op.forward(array)
    result = wrap(made if made.__class__ is ndarray else np.asarray(made))
    if x._requires and MODE.enabled:
        record_one(op.node_type, result, x, kw, (array.shape,))
    return result


def _reduced(whole: Operator, along: Operator, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Run a reduction of `x`: the operator `whole` over all dimensions, `along` over those given."""
    if dim is None and not keepdim:
        op, kw = whole, _NO_KW
    else:
        op, kw = along, {"dim": wrap_dims(dim, x._array.ndim), "keepdim": keepdim}
    found = _quick(op, x, kw)
    return op(x, **kw) if found is None else found


def numpy_names(function: str, dim: Any, keepdim: bool, axis: Any, keepdims: bool | None) -> tuple[Any, bool]:
    """Resolve `dim` and `keepdim`, which may be given as `axis` and `keepdims` as in NumPy."""
    if axis is not None and dim is not None:
        raise TypeError(f"{function}() got an unexpected keyword argument 'axis'")
    return (dim if axis is None else axis), (keepdim if keepdims is None else keepdims)


def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None,
    axis: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The sum of all elements, or over dimensions. Integers and booleans are summed as int64.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert
    the input to this type first (default: keep its type). `out`: a tensor to which the result is written. `axis` and
    `keepdims` are NumPy's names of `dim` and `keepdim`.

    >>> import mpigrad
    >>> mpigrad.ones(2, 3).sum(dim=1)
    tensor([3., 3.])
    """
    if dim is None and dtype is None and out is None and not keepdim and axis is None and keepdims is None:
        found = _quick(SUM_ALL, input, _NO_KW)
        if found is not None:
            return found
    need_tensors("sum", input=input)
    dim, keepdim = numpy_names("sum", dim, keepdim, axis, keepdims)
    kind = as_dtype(dtype) if dtype is not None else int64 if input._array.dtype.kind in "biu" else None
    x = input if kind is None else to_dtype(input, kind)
    found = _reduced(SUM_ALL, SUM_DIM, x, dim, keepdim)
    return found if out is None else deliver(found, out)


def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None,
    axis: Any = None, keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The mean of all elements, or over dimensions. Integers raise a RuntimeError, unless `dtype` is given.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert
    the input to this type first (default: keep its type). `out`: a tensor to which the result is written. `axis` and
    `keepdims` are NumPy's names of `dim` and `keepdim`.

    >>> import mpigrad
    >>> mpigrad.tensor([1.0, 2.0, 6.0]).mean()
    tensor(3.)
    """
    if dim is None and dtype is None and out is None and not keepdim and axis is None and keepdims is None:
        found = _quick(MEAN_ALL, input, _NO_KW)
        if found is not None:
            return found
    need_tensors("mean", input=input)
    dim, keepdim = numpy_names("mean", dim, keepdim, axis, keepdims)
    x = input if dtype is None else to_dtype(input, as_dtype(dtype))
    if x._array.dtype.kind not in "fcV":
        which = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point or "
            "complex dtype. Got: "
            f"{title(x._array)}"
        )
    found = _reduced(MEAN_ALL, MEAN_DIM, x, dim, keepdim)
    return found if out is None else deliver(found, out)


method(sum)
method(mean)

__all__ = ["mean", "sum"]
