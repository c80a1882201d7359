"""Softmax of sparse tensors: places that are not held count as minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from .._kernels.runs import rows_added
from .._sparse_array.array import SparseArray
from .._tensor import Tensor
from ._define import RESULT, operator
from ._guarded import guarded
from ._sparse_calls import on_arrays
from .softmaxes import log_softmax as dense_log_softmax
from .softmaxes import softmax as dense_softmax
from .sparse_forms import sparse_like, values_op


def _totals(v: Any, *, group: Any, count: int) -> Any:
    """For each value the sum of its group; its own transpose."""
    return rows_added(group, v, count)[group]


operator("group_totals", _totals, lambda F, node, g: F.group_totals(g, **node.kw), node="IndexAddBackward0")


def _forward(x: Any, *, like: SparseArray, group: Any, count: int, logarithm: bool) -> SparseArray:
    values, xp = like.values, array_module(like.values)
    top = xp.full((count, *values.shape[1:]), -np.inf, values.dtype)
    xp.maximum.at(top, group, values)
    shifted = values - top[group]
    powers = xp.exp(shifted)
    totals = _totals(powers, group=group, count=count)
    return like.with_values(shifted - xp.log(totals) if logarithm else powers / totals)


def _backward(F: Any, node: Any, g: Any, y: Any) -> Any:
    kw = node.kw
    like, among = kw["like"], {"group": kw["group"], "count": kw["count"]}
    g, y = F.values_like(g, like=like), F.values_like(y, like=like)
    if kw["logarithm"]:
        return F.sparse_like(g - F.exp(y) * F.group_totals(g, **among), like=like)
    return F.sparse_like(y * (g - F.group_totals(g * y, **among)), like=like)


_SOFTMAX = operator("sparse_softmax", _forward, _backward, saves=(RESULT,), node="SparseSoftmaxBackward0")
_LOG_SOFTMAX = operator("sparse_log_softmax", _forward, _backward, saves=(RESULT,), node="SparseLogSoftmaxBackward0")
_SOFTMAX.sparse = _LOG_SOFTMAX.sparse = on_arrays


def _groups(array: SparseArray, dim: int) -> tuple[Any, int]:
    """The group of each value, places that differ in `dim` only, and how many groups there are."""
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
    if dim < like.sparse_dim:
        group, count = _groups(like, dim)
        return (_LOG_SOFTMAX if logarithm else _SOFTMAX)(input, like=like, group=group, count=count, logarithm=logarithm)
    found = input.coalesce()
    values = values_op(found, places=found._array.frozen())
    made = (dense_log_softmax if logarithm else dense_softmax)(values, dim - like.sparse_dim + 1)
    return sparse_like(made, like=like)


__all__: list[str] = []
