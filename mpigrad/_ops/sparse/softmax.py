"""Softmax of sparse tensors: elements that are not stored count as minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._array.sparse.array import SparseArray
from mpigrad._kernels.runs import rows_added
from mpigrad._tensor import Tensor

from .._define.guarded import guarded
from .._define.operator import RESULT, operator
from .._define.sparse_calls import on_arrays
from ..index.add_at import combine_at


def _totals(v: Any, *, group: Any, count: int) -> Any:
    """For each value, the sum over all values with the same number in `group` (of `count` groups); this operator is
    its own transpose.
    """
    return rows_added(group, v, count)[group]


operator("group_totals", _totals, lambda F, node, g: F.group_totals(g, **node.kw), node="IndexAddBackward0")


def _along_dense(x: Any, *, like: SparseArray, axis: int, logarithm: bool) -> SparseArray:
    values, xp = like.values, array_module(like.values)
    shifted = values - values.max(axis=axis, keepdims=True) if values.size else values
    powers = xp.exp(shifted)
    totals = powers.sum(axis=axis, keepdims=True)
    return like.with_values(shifted - xp.log(totals) if logarithm else powers / totals)


def _forward(x: Any, *, like: SparseArray, logarithm: bool, **where: Any) -> SparseArray:
    if "axis" in where:
        return _along_dense(x, like=like, logarithm=logarithm, **where)
    return _along_sparse(x, like=like, logarithm=logarithm, **where)


def _along_sparse(x: Any, *, like: SparseArray, group: Any, count: int, logarithm: bool) -> SparseArray:
    values, xp = like.values, array_module(like.values)
    top = xp.full((count, *values.shape[1:]), -np.inf, values.dtype)
    combine_at("maximum", top, (group,), values)
    shifted = values - top[group]
    powers = xp.exp(shifted)
    totals = _totals(powers, group=group, count=count)
    return like.with_values(shifted - xp.log(totals) if logarithm else powers / totals)


def _backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    like = node.kw["like"]
    g, y = F.values_like(g, like=like), F.values_like(y, like=like)
    if node.kw["logarithm"]:
        return F.sparse_like(g - F.exp(y) * _summed(F, node, g), like=like)
    return F.sparse_like(y * (g - _summed(F, node, g * y)), like=like)


def _summed(F: Any, node: Any, x: Any) -> Any:
    """The sums over the dimension along which a softmax was taken."""
    kw = node.kw
    if "axis" in kw:
        return F.sum(x, dim=(kw["axis"],), keepdim=True)
    return F.group_totals(x, group=kw["group"], count=kw["count"])


_SOFTMAX = operator("sparse_softmax", _forward, _backward, saves=(RESULT,), node="SparseSoftmaxBackward0")
_LOG_SOFTMAX = operator("sparse_log_softmax", _forward, _backward, saves=(RESULT,), node="SparseLogSoftmaxBackward0")
_SOFTMAX.sparse = _LOG_SOFTMAX.sparse = on_arrays


def _groups(array: SparseArray, dim: int) -> tuple[Any, int]:
    """The group of each value (values whose indices differ only in `dim`), and the number of groups."""
    xp = array_module(array.values)
    flat = xp.zeros(array.nnz, np.int64)
    for other in range(array.sparse_dim):
        if other != dim:
            flat = flat * array.shape[other] + array.indices[other]
    kept, group = xp.unique(flat, return_inverse=True)
    return group, int(kept.shape[0])


@guarded
def sparse_softmax(input: Tensor, dim: int, logarithm: bool) -> Tensor:
    """Softmax, or its logarithm, along any dimension of a sparse tensor."""
    like = input._array.coalesce().frozen()
    op = _LOG_SOFTMAX if logarithm else _SOFTMAX
    if dim >= like.sparse_dim:
        return op(input, like=like, logarithm=logarithm, axis=dim - like.sparse_dim + 1)
    group, count = _groups(like, dim)
    return op(input, like=like, logarithm=logarithm, group=group, count=count)


__all__: list[str] = []
