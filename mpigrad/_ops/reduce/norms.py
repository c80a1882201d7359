"""Other reductions: logsumexp, norm, any, all, count_nonzero, nansum, nanmean."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.dtype import as_dtype, dtype, int64, promote_types
from mpigrad._core.engine import as_array
from mpigrad._kernels.reduction import add_reduce, all_reduce, any_reduce, max_reduce, min_reduce
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.dims import wrap_dim, wrap_dims
from .._define.guarded import guarded
from .._define.operator import RESULT, operator, refuse_sparse
from .._define.out import deliver
from .._define.unary import as_float
from .._define.unbroadcast import to_dtype
from ..elementwise.compare import plain
from ..linalg.factorizations import svd
from .sums import Dims


def _logsumexp(x: Any, *, dim: Dims, keepdim: bool) -> Any:
    if x.ndim == 0:
        return x.copy()
    if x.size == 0:
        return np.log(add_reduce(x, axis=dim, keepdims=keepdim))
    top = max_reduce(x.real, axis=dim, keepdims=True)
    top = array_module(x).where(np.isfinite(top), top, top.dtype.type(0))
    made = np.log(add_reduce(np.exp(x - top), axis=dim, keepdims=keepdim))
    return made + (top if keepdim else top.reshape(made.shape))


def _spread(F: Any, node: Any, value: Any) -> Any:
    return F.spread(value, shape=node.shapes[0], dim=node.kw["dim"], keepdim=node.kw["keepdim"])


def _logsumexp_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    return _spread(F, node, g) * F.conj(F.exp(x - _spread(F, node, y)))


LOGSUMEXP = operator("logsumexp", _logsumexp, _logsumexp_backward, saves=(0, RESULT))


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over the dimension (or dimensions) `dim`, without overflow. `keepdim`: keep them with length
    1. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.logsumexp(mpigrad.zeros(2), dim=0)
    tensor(0.6931)
    """
    need_tensors("logsumexp", input=input)
    return deliver(LOGSUMEXP(as_float(input), dim=wrap_dims(dim, input._array.ndim), keepdim=keepdim), out)


def _norm(x: Any, *, ord: float, dim: Dims, keepdim: bool) -> Any:
    size = np.abs(x)
    if x.dtype == np.float16 and ord not in (0, 1, math.inf, -math.inf):  # powers of half-precision numbers overflow early
        return as_array(_norm(size.astype(np.float32), ord=ord, dim=dim, keepdim=keepdim)).astype(x.dtype)
    if x.ndim == 0:
        return size if ord else (size != 0).astype(size.dtype)
    kw: dict[str, Any] = {"axis": dim, "keepdims": keepdim}
    if ord == 2:
        return np.sqrt(add_reduce(size * size, **kw))
    if ord == 1:
        return add_reduce(size, **kw)
    if ord == 0:
        return add_reduce(size != 0, dtype=size.dtype, **kw)
    if ord == math.inf:
        return max_reduce(size, **kw)
    if ord == -math.inf:
        return min_reduce(size, **kw)
    return np.power(add_reduce(np.power(size, size.dtype.type(ord)), **kw), size.dtype.type(1 / ord))


def _norm_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    p = node.kw["ord"]
    if p == 0:
        return None
    if p == 1:
        return _spread(F, node, g) * F.sgn(x)
    if p in (math.inf, -math.inf):
        return _extreme_backward(F, node, g, x, y)
    if p == 2:
        return x * _spread(F, node, F.keep(g / (y + (y == 0)), y != 0))  # no 0 / 0: its own derivative would be nan
    size = F.abs(x)
    steep = F.pow_number(size, exponent=p - 1) if p > 1 else F.keep(F.pow_number(size, exponent=p - 1), size != 0)
    return F.sgn(x) * steep * _spread(F, node, F.keep(g / F.pow_number(y, exponent=p - 1), y != 0))


def _extreme_backward(F: Any, node: Any, g: Any, x: Any, y: Any) -> Any:
    size = F.abs(x)
    mask = size == _spread(F, node, y)
    count = F.sum_dim(F.cast(mask, dtype=getattr(y, "_array", y).dtype), dim=node.kw["dim"], keepdim=node.kw["keepdim"])
    return F.sgn(x) * F.keep(_spread(F, node, g / count), mask)


VECTOR_NORM = operator("vector_norm", _norm, _norm_backward, saves=(0, RESULT), node="LinalgVectorNormBackward0")


def _dist_backward(F: Any, node: Any, g: Any, x: Any, y: Any, result: Any) -> Any:
    away = x - y
    as_norm = SimpleNamespace(
        kw={"ord": node.kw["ord"], "dim": None, "keepdim": False}, shapes=(getattr(away, "_array", away).shape,)
    )
    into = _norm_backward(F, as_norm, g, away, result)
    return into, None if into is None else -into


DIST = operator("dist", lambda x, y, *, ord: _norm(x - y, ord=ord, dim=None, keepdim=False), _dist_backward,
                saves=(0, 1, RESULT), broadcasts=True)  # fmt: skip


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None,
                out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The `ord`-norm of vectors: sum(|x| ** ord) ** (1 / ord); inf and -inf are the largest and smallest |x|, 0
    counts nonzero elements.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert to
    this type first. `out`: a tensor to which the result is written.
    """
    need_tensors("linalg.vector_norm", x=x)
    if dtype is not None:
        wanted = as_dtype(dtype)
        if promote_types(x.dtype, wanted) is not wanted:
            raise RuntimeError(
                f"linalg.vector_norm: the dtype of the input ({title(x._array)}) should be "
                "convertible without narrowing to "
                f"the specified dtype ({title(np.empty(0, wanted.numpy))})"
            )
        x = to_dtype(x, wanted)
    if x._array.dtype.kind not in "fcV":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {title(x._array)}"
        )
    if x._array.size == 0 and ord in (math.inf, -math.inf):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return deliver(VECTOR_NORM(x, ord=float(ord), dim=wrap_dims(dim, x._array.ndim), keepdim=keepdim), out)


def _nuclear(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions."""
    row, column = (wrap_dim(each, input._array.ndim) for each in dim)
    others = [i for i in range(input._array.ndim) if i not in (row, column)]
    found = svd(input.permute(*others, row, column), full_matrices=False)[1].sum(-1)
    if keepdim:
        for each in sorted((row, column)):
            found = found.unsqueeze(each)
    return found


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None,
         dtype: dtype | None = None) -> Tensor:  # fmt: skip
    """The `p`-norm of the elements, by default the 2-norm ("fro"); "nuc" is the nuclear norm of matrices.

    `dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `dtype`: convert to
    this type first. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.norm(mpigrad.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc":
        return deliver(_nuclear(input, (-2, -1) if dim is None else dim, keepdim), out)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype, out=out)


def frobenius_norm(input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of squares over the dimension (or dimensions) `dim`. `keepdim`: keep them with length 1.
    `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.frobenius_norm(mpigrad.tensor([[3.0, 4.0]]), 1)
    tensor([5.])
    """
    return norm(input, "fro", dim, keepdim, out)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of a matrix, or of the matrices in the two dimensions `dim`. `keepdim`: keep
    them with length 1. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.nuclear_norm(mpigrad.eye(2))
    tensor(2.)
    """
    return norm(input, "nuc", dim, keepdim, out)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The `p`-norm of `input - other`, over all elements: a zero-dimensional tensor.

    >>> import mpigrad
    >>> mpigrad.dist(mpigrad.tensor([3.0, 4.0]), mpigrad.zeros(2))
    tensor(5.)
    """
    need_tensors("dist", input=input, other=other)
    return DIST(input, other, ord=float(p))


def _nansum(x: Any, *, dim: Dims, keepdim: bool) -> Any:
    known = array_module(x).where(np.isnan(x), x.dtype.type(0), x) if x.dtype.kind in "fV" else x
    return known.copy() if x.ndim == 0 else add_reduce(known, axis=dim, keepdims=keepdim, dtype=x.dtype)


NANSUM = operator("nansum", _nansum, lambda F, node, g, x: F.keep(_spread(F, node, g), ~F.isnan(x)), saves=(0,))


def nansum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all. `keepdim`:
    keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`: a tensor
    to which the result is written.

    >>> import mpigrad
    >>> mpigrad.nansum(mpigrad.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    need_tensors("nansum", input=input)
    kind = as_dtype(dtype) if dtype is not None else int64 if input._array.dtype.kind in "biu" else None
    x = input if kind is None else to_dtype(input, kind)
    return deliver(NANSUM(x, dim=wrap_dims(dim, x._array.ndim), keepdim=keepdim), out)


def nanmean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Tensor | None = None
) -> Tensor:
    """The mean of the elements that are not nan. `dim`: a dimension, or a tuple of several; by default all.
    `keepdim`: keep them with length 1. `dtype`: convert the input to this type first (default: keep its type). `out`:
    a tensor to which the result is written.
    """
    known = (~input.detach().isnan()).sum(dim, keepdim)
    return deliver(nansum(input, dim, keepdim, dtype=dtype) / known, out)


def _logical(name: str, reduce: Any, doc: str) -> Any:
    def call(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        need_tensors(name, input=input)
        x = input._array
        if input.is_sparse:
            if name != "any" or dim is not None or keepdim:
                refuse_sparse(name if dim is None else f"{name}.dim", input)
            x = x.coalesce().values
        dims = wrap_dims(dim, x.ndim)
        truth = x if x.dtype.kind == "b" else x != 0
        made = truth if x.ndim == 0 else reduce(truth, axis=dims, keepdims=keepdim)
        made = np.asarray(made) if isinstance(made, (bool, np.generic)) else made
        return deliver(plain(made.astype(np.uint8) if x.dtype == np.uint8 else made), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"{doc}\n\n`dim`: a dimension, or a tuple of several; by default all. `keepdim`: keep them with length 1. `out`: a "
        "tensor to which the result is written."
    )
    call.__module__ = "mpigrad"
    return method(call)


any = _logical("any", any_reduce, "Whether at least one element is nonzero: of all, or over dimensions; a tensor of bools.")
all = _logical("all", all_reduce, "Whether all elements are nonzero, of the tensor or over dimensions; a tensor of bools.")


@guarded
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """The number of elements that are not zero: of all, or over the dimension (or dimensions) `dim`.

    >>> import mpigrad
    >>> mpigrad.count_nonzero(mpigrad.tensor([0, 1, 2]))
    tensor(2)
    """
    need_tensors("count_nonzero", input=input)
    x = input._array
    return plain((x != 0).astype("i8") if x.ndim == 0 else add_reduce(x != 0, axis=wrap_dims(dim, x.ndim), dtype="i8"))


for _fn in (logsumexp, norm, dist, nansum, nanmean, count_nonzero):
    method(_fn)

__all__ = ["all", "any", "count_nonzero", "dist", "frobenius_norm", "logsumexp", "nanmean", "nansum", "norm", "nuclear_norm"]
