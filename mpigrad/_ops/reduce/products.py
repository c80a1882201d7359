"""Products of elements and running products."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module
from mpigrad._array.dtype import as_dtype, dtype, int64
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import add_to_both
from mpigrad._kernels.reduction import multiply_reduce
from mpigrad._tensor import Tensor, method

from .._define.arguments import invalid_combination, need_tensors
from .._define.dims import wrap_dim
from .._define.inplace import in_place
from .._define.operator import RESULT, operator
from .._define.out import deliver
from .._define.unbroadcast import to_dtype

operator(
    "as_shape",
    lambda x, *, shape: x.reshape(shape),
    lambda F, node, g: F.as_shape(g, shape=node.shapes[0]),
    node="ViewBackward0",
)


def _prod_dim(x: Any, *, dim: int, keepdim: bool) -> Any:
    return x.copy() if x.ndim == 0 else multiply_reduce(x, axis=dim, keepdims=keepdim, dtype=x.dtype)


def _others(x: Any, *, dim: int) -> Any:
    """For each element, the product of all others along the dimension: exact where some are zero."""
    xp = array_module(x)
    before, after = xp.ones_like(x), xp.ones_like(x)
    head, tail = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    head[dim], tail[dim] = slice(0, -1), slice(1, None)
    before[tuple(tail)] = xp.cumprod(x, axis=dim)[tuple(head)]
    backwards = xp.flip(x, axis=dim)
    after[tuple(tail)] = xp.cumprod(backwards, axis=dim)[tuple(head)]
    return before * xp.flip(after, axis=dim)


def _diagonal(x: Any, dim: int) -> Any:
    """True on the diagonal of the dimensions `dim` and `dim + 1` of an array that has one dimension more than `x`."""
    array = getattr(x, "_array", x)
    length = array.shape[dim]
    shape = (1,) * dim + (length, length) + (1,) * (array.ndim - dim - 1)
    return array_module(array).eye(length, dtype=bool).reshape(shape)


def _without_each(F: Any, x: Any, dim: int) -> tuple[Any, Any]:
    """Copies of `x`, one per element along `dim`, in which that element is one; and the mask of the other elements."""
    shape = getattr(x, "_array", x).shape
    diagonal = _diagonal(x, dim)
    wide = F.spread(x, shape=(*shape[: dim + 1], *shape[dim:]), dim=(dim,), keepdim=False)
    rest, ones = F.constant_mask(~diagonal), F.constant_mask(diagonal)
    full = F.spread_like(rest, wide)
    return F.keep(wide, full) + F.cast(ones, dtype=getattr(x, "_array", x).dtype), full


def _spread_like(x: Any, y: Any) -> Any:
    return array_module(x).broadcast_to(x, y.shape)


add_to_both("constant_mask", lambda x: x, wrap)
add_to_both("spread_like", _spread_like, lambda x, y: wrap(_spread_like(x._array, y._array)))


def _others_backward(F: Any, node: Any, g: Any, x: Any) -> Any:
    dim = node.kw["dim"]
    copies, rest = _without_each(F, x, dim)
    shape = getattr(copies, "_array", copies).shape
    weights = F.spread(g, shape=shape, dim=(dim + 1,), keepdim=False)
    return F.sum_dim(F.keep(weights * F.others(copies, dim=dim + 1), rest), dim=(dim,), keepdim=False)


def _prod_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    dim, keepdim = node.kw["dim"], node.kw["keepdim"]
    shape = node.shapes[0]
    if not shape:
        return g
    g = F.spread(g, shape=shape, dim=(dim,), keepdim=keepdim)
    if getattr(x, "_array", x).all():
        return g * F.conj(F.spread(y, shape=shape, dim=(dim,), keepdim=keepdim) / x)
    return g * F.conj(F.others(x, dim=dim))


def _prod_all_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    shape = node.shapes[0]
    if getattr(x, "_array", x).all():
        return F.spread(g * F.conj(y), shape=shape) / F.conj(x)
    flat = F.others(F.as_shape(x, shape=(-1,)), dim=0)
    return F.spread(g, shape=shape) * F.conj(F.as_shape(flat, shape=shape))


def _cumprod_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    dim = node.kw["dim"]
    array = getattr(x, "_array", x)
    if array.ndim == 0:
        return g
    if array.all():
        return F.cumsum(g * F.conj(y), dim=dim, reverse=True) / F.conj(x)
    copies, _ = _without_each(F, x, dim)  # element j is one in copy j; only products that reach j depend on it
    running = F.cumprod(copies, dim=dim + 1)
    shape = getattr(running, "_array", running).shape
    length = array.shape[dim]
    later = array_module(array).tril(array_module(array).ones((length, length), bool)).T
    later = later.reshape((1,) * dim + (length, length) + (1,) * (array.ndim - dim - 1))
    weights = F.spread(g, shape=shape, dim=(dim,), keepdim=False)
    kept = F.keep(weights * F.conj(running), F.spread_like(F.constant_mask(later), running))
    return F.sum_dim(kept, dim=(dim + 1,), keepdim=False)


def _cumprod(x: Any, *, dim: int) -> Any:
    return x.copy() if x.ndim == 0 else array_module(x).cumprod(x, axis=dim, dtype=x.dtype)


operator("others", _others, _others_backward, saves=(0,), node="ProdBackward1")
PROD_DIM = operator("prod_dim", _prod_dim, _prod_backward, saves=(0, RESULT), node="ProdBackward1")
PROD_ALL = operator("prod_all", lambda x: multiply_reduce(x, axis=None, dtype=x.dtype), _prod_all_backward,
                    saves=(0, RESULT), node="ProdBackward0")  # fmt: skip
CUMPROD = operator("cumprod", _cumprod, _cumprod_backward, saves=(0, RESULT))


def _summable(input: Tensor, kind: dtype | None) -> Tensor:
    wanted = as_dtype(kind) if kind is not None else int64 if input._array.dtype.kind in "biu" else None
    return input if wanted is None else to_dtype(input, wanted)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None,
         out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The product of all elements, or along `dim`. `keepdim`: keep `dim` with length 1.

    `dtype`: convert to this type first; integers and booleans are multiplied as int64. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.prod(mpigrad.tensor([2.0, 3.0]))
    tensor(6.)
    """
    need_tensors("prod", input=input)
    x = _summable(input, dtype)
    if dim is None:
        return deliver(PROD_ALL(x), out)
    if isinstance(dim, (tuple, list)):
        raise invalid_combination("prod", (dim,), "*, mpigrad.dtype dtype = None", "int dim, bool keepdim = False")
    return deliver(PROD_DIM(x, dim=wrap_dim(dim, x._array.ndim), keepdim=keepdim), out)


def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Tensor | None = None) -> Tensor:
    """Running products along `dim`: result i is the product of the elements 0 to i. `dtype`: convert the input to
    this type first (default: keep its type). `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.cumprod(mpigrad.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    need_tensors("cumprod", input=input)
    x = _summable(input, dtype)
    return deliver(CUMPROD(x, dim=wrap_dim(dim, x._array.ndim)), out)


method(prod)
method(cumprod)
method(in_place(cumprod), "cumprod_")

__all__ = ["cumprod", "prod"]
