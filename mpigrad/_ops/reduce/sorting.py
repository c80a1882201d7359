"""Sorting and selection: sort, topk, kthvalue, running extremes, unique."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad import return_types
from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.dims import own_dim, wrap_dim
from .._define.guarded import guarded
from .._define.operator import operator
from .._define.out import deliver
from .running import running


def _order(x: Any, dim: int, descending: bool) -> Any:
    """The indices that sort an array along a dimension; equal elements keep their order."""
    if not descending:
        return x.argsort(dim, kind="stable")
    xp = array_module(x)
    return x.shape[dim] - 1 - xp.flip(xp.flip(x, dim).argsort(dim, kind="stable"), dim)


def _pick(x: Any, index: Any, dim: int) -> Any:
    return array_module(x).take_along_axis(x, index, dim), index.astype(np.int64)


def _sort(x: Any, *, dim: int, descending: bool) -> Any:
    return _pick(x, _order(x, dim, descending), dim)


def _topk(x: Any, *, k: int, dim: int, largest: bool, sort: bool) -> Any:
    length = x.shape[dim]
    before = (slice(None),) * dim
    if k == 0 or k * 4 > length:
        return _pick(x, _order(x, dim, largest)[(*before, slice(0, k))], dim)
    part = x.argpartition(length - k if largest else k - 1, dim)
    part = part[(*before, slice(length - k, None) if largest else slice(0, k))]
    chosen = array_module(x).take_along_axis(x, part, dim)
    order = _order(chosen, dim, largest)
    return _pick(x, array_module(x).take_along_axis(part, order, dim), dim)


def _kth(x: Any, *, k: int, dim: int, keepdim: bool) -> Any:
    index = _order(x, dim, False)[(slice(None),) * dim + (slice(k - 1, k),)]
    return _kept(_pick(x, index, dim), dim, keepdim)


def _kept(found: Any, dim: int, keepdim: bool) -> Any:
    return found if keepdim else tuple(each.squeeze(dim) for each in found)


def _running(x: Any, better: Any, *, dim: int) -> Any:
    """The running extreme of `x` along a dimension, and the last index at which it occurred; `better` is np.maximum
    or np.minimum.
    """
    xp = array_module(x)
    values = running(better, x, dim)
    places = xp.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - dim - 1))
    same = (x == values) | (x != x)
    return values, running(np.maximum, xp.where(same, places, 0), dim).astype(np.int64)


def _back(F: Any, node: Any, g: Any, index: Any) -> Any:
    dim, shape, into = node.kw["dim"], node.shapes[0], g[0]
    if shape and not node.kw.get("keepdim", True):
        into, index = F.insert_dim(into, dim=dim), F.insert_dim(index, dim=dim)
    return F.gather_back(into, index, dim=dim, shape=shape)


def _chooser(name: str, forward: Any, node: str) -> Any:
    def any_dims(x: Any, **kw: Any) -> Any:
        """Allow a function along a dimension also for zero-dimensional tensors, which count as vectors of one element."""
        return forward(x, **kw) if x.ndim else tuple(each.reshape(()) for each in forward(x.reshape(1), **kw))

    return operator(name, any_dims, _back, saves=(-2,), node=node)


_SORT = _chooser("sort", _sort, "SortBackward0")
_SORT_STABLE = _chooser("sort_stable", _sort, "SortBackward1")
_TOPK = _chooser("topk", _topk, "TopkBackward0")
_KTH = _chooser("kthvalue", _kth, "KthvalueBackward0")
_CUMMAX = _chooser("cummax", lambda x, *, dim: _running(x, np.maximum, dim=dim), "CummaxBackward0")
_CUMMIN = _chooser("cummin", lambda x, *, dim: _running(x, np.minimum, dim=dim), "CumminBackward0")


def _choose(op: Any, name: str, input: Tensor, dim: int, out: Any, **kw: Any) -> Any:
    """Run an operator along a dimension, and return its results as a named tuple."""
    values, indices = op(input, dim=wrap_dim(dim, input._array.ndim), **kw)
    if out is not None:
        values, indices = deliver(values, out[0]), deliver(indices, out[1])
    return getattr(return_types, name)(values, indices)


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None, *, out: Any = None) -> Any:
    """The elements along `dim` in ascending (or `descending`) order, and their original indices: the named tuple
    (values, indices).

    Equal elements keep their order, whether or not `stable` is given. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> values, indices = mpigrad.sort(mpigrad.tensor([3, 1, 2]))
    >>> values, indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    return _choose(_SORT if stable is None else _SORT_STABLE, "sort", input, dim, out, descending=bool(descending))


@method
@guarded
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort `input` along `dim`, in ascending (or `descending`) order. Equal elements keep their
    order.

    >>> import mpigrad
    >>> mpigrad.argsort(mpigrad.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    at = wrap_dim(dim, input._array.ndim)
    if not input._array.ndim:
        return wrap(np.zeros((), np.int64))
    return wrap(_order(input._array, at, descending).astype(np.int64))


@method
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor sorted along its first dimension, in ascending order. `out`: a tensor to which the result is
    written.
    """
    return deliver(sort(input, 0)[0], out)


@method
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The `k` largest elements along `dim` (with `largest=False` the smallest), in order: the named tuple (values,
    indices).

    `out`: a tuple of tensors to which the results are written.

    >>> import mpigrad
    >>> mpigrad.topk(mpigrad.tensor([1, 5, 3]), 2).values
    tensor([5, 3])
    """
    at = wrap_dim(dim, input._array.ndim)
    if not 0 <= k <= (input._array.shape[at] if input._array.ndim else 1):
        raise RuntimeError("selected index k out of range")
    return _choose(_TOPK, "topk", input, dim, out, k=k, largest=largest, sort=sorted)


@method
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The `k`-th smallest element along `dim` (counted from 1): the named tuple (values, indices). `keepdim`: keep
    `dim` with length 1.

    `out`: a tuple of tensors to which the results are written.
    """
    at = wrap_dim(dim, input._array.ndim)
    if not 1 <= k <= (input._array.shape[at] if input._array.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    return _choose(_KTH, "kthvalue", input, dim, out, k=k, keepdim=keepdim)


@method
def cummax(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """The largest element up to each position along `dim`, and its index: the named tuple (values, indices).

    `out`: a tuple of tensors to which the results are written.

    >>> import mpigrad
    >>> mpigrad.cummax(mpigrad.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return _choose(_CUMMAX, "cummax", input, dim, out)


@method
def cummin(input: Tensor, dim: int, *, out: Any = None) -> Any:
    """The smallest element up to each position along `dim`, and its index: the named tuple (values, indices).

    `out`: a tuple of tensors to which the results are written.
    """
    return _choose(_CUMMIN, "cummin", input, dim, out)


method(sort)


@guarded
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, sorted; with `dim`, the distinct slices of that dimension.

    `return_inverse`: also return, for each element, its index in the result; `return_counts`: also return how often
    each occurs. The result is then a tuple.

    >>> import mpigrad
    >>> mpigrad.unique(mpigrad.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    array = input._array
    at = None if dim is None else own_dim(dim, array.ndim)
    found, inverse, counts = np.unique(array, return_inverse=True, return_counts=True, axis=at, equal_nan=False)
    inverse = inverse.reshape(array.shape if at is None else -1)
    return _unique_results(found, inverse, counts, return_inverse, return_counts)


def _unique_results(found: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool) -> Any:
    results = [wrap(found)]
    results += [wrap(inverse.astype(np.int64))] if with_inverse else []
    results += [wrap(counts.astype(np.int64))] if with_counts else []
    return tuple(results) if len(results) > 1 else results[0]


@guarded
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (with `dim`, the slices of that dimension) without those that equal the one before.

    `return_inverse`: also return, for each element, its index in the result; `return_counts`: also return the length
    of each run.

    >>> import mpigrad
    >>> mpigrad.unique_consecutive(mpigrad.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    array = input._array
    at = 0 if dim is None else own_dim(dim, array.ndim)
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, at, 0)
    if not len(rows):
        empty = np.zeros(0, np.int64)
        return _unique_results(array.reshape(-1) if dim is None else array, empty, empty, return_inverse, return_counts)
    differs = (rows[1:] != rows[:-1]).reshape(len(rows) - 1, rows[0].size).any(1)
    starts = np.flatnonzero(np.concatenate(([True], differs)))
    inverse = np.cumsum(np.concatenate(([0], differs)))
    found = np.ascontiguousarray(np.moveaxis(rows[starts], 0, at))
    counts = np.diff(np.append(starts, len(rows)))
    inverse = inverse.reshape(array.shape) if dim is None else inverse
    return _unique_results(found, inverse, counts, return_inverse, return_counts)


def _unique_method(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The distinct elements, sorted; the arguments are those of `mpigrad.unique`."""
    return unique(self, sorted, return_inverse, return_counts, dim)


method(_unique_method, "unique")
method(unique_consecutive)

__all__ = [
    "argsort", "cummax", "cummin", "kthvalue", "msort", "sort", "topk", "unique", "unique_consecutive",
]  # fmt: skip
