"""Rows of a table by number, and the gradient of the table: rows added up where they came from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._device import array_module
from .._sparse_array.runs import sorted_runs, sums_of_runs
from ._define import operator

# The sparse layer puts its function here: (F, g, indices, rows=, padding_idx=, scale=) -> a sparse gradient.
sparse_gradient: list[Callable[..., Any]] = []


def _take(table: Any, indices: Any, **kw: Any) -> Any:
    return table.take(indices, axis=0)  # twice as fast as table[indices]


def rows_added(shape: tuple[int, int], indices: Any, rows: Any) -> Any:
    """Zeros of a shape, with `rows` added to those rows that `indices` names, which may repeat."""
    xp = array_module(rows)
    made = xp.zeros(shape, rows.dtype)
    if xp is np and indices.size:  # NumPy's unbuffered add is slow on rows; sums of sorted runs are not
        order, starts = sorted_runs(indices)
        made[indices[order[starts]]] = sums_of_runs(rows, order, starts)
    else:
        xp.add.at(made, indices, rows)
    return made


def _weights(indices: Any, padding_idx: int, scale: bool) -> Any:
    """The factor of each row in the gradient: 0 for the padding row, one over its count if scaled; None if all are "
    "1."""
    if padding_idx < 0 and not scale:
        return None
    xp = array_module(indices)
    found = xp.ones(indices.shape) if padding_idx < 0 else (indices != padding_idx).astype("f8")
    if scale:
        _, inverse, many = xp.unique(indices, return_inverse=True, return_counts=True)
        found = found / many[inverse.reshape(indices.shape)]
    return found[..., None]


def _spread(g: Any, indices: Any, *, rows: int, padding_idx: int, scale: bool) -> Any:
    """The gradient of the table."""
    factor = _weights(indices, padding_idx, scale)
    if factor is not None:
        g = (g * factor).astype(g.dtype)
    return rows_added((rows, g.shape[-1]), indices.reshape(-1), g.reshape(indices.size, g.shape[-1]))


def _take_weighted(table: Any, indices: Any, *, rows: int, padding_idx: int, scale: bool) -> Any:
    found, factor = table[indices], _weights(indices, padding_idx, scale)
    return found if factor is None else (found * factor).astype(table.dtype)


def _backward(F: Any, node: Any, g: Any, indices: Any) -> Any:
    kw = node.kw
    how = {"rows": node.shapes[0][0], "padding_idx": kw["padding_idx"], "scale": kw["scale"]}
    if kw["sparse"]:
        if not sparse_gradient:
            raise RuntimeError("embedding: sparse=True needs mpigrad.sparse; import it before the backward pass")
        return sparse_gradient[0](F, g, indices, **how), None
    return F.embedding_spread(g, indices, **how), None


embedding = operator("embedding", _take, _backward, saves=(1,), node="EmbeddingBackward0")


def _bag(x: Any, bags: Any, by: Any = None, *, count: int) -> Any:
    made = _spread(x, bags, rows=count, padding_idx=-1, scale=False)
    return made if by is None else made / by


def _bag_backward(F: Any, node: Any, h: Any, bags: Any, by: Any) -> Any:
    h = h if by is None else h / by
    return F.embedding_take(h, bags, rows=node.kw["count"], padding_idx=-1, scale=False), None, None


# (rows, the bag of each, what each bag's sum is divided by) -> one row per bag
bag_sum = operator("embedding_bag", _bag, _bag_backward, saves=(1, 2), node="EmbeddingBagBackward0")
bag_max = operator("embedding_bag_max", lambda x: x.copy(), lambda F, node, g: g, node="EmbeddingBagBackward0")
operator(
    "embedding_spread",
    _spread,
    lambda F, node, h, indices: (F.embedding_take(h, indices, **node.kw), None),
    saves=(1,),
    node="EmbeddingDenseBackwardBackward0",
)
operator(
    "embedding_take",
    _take_weighted,
    lambda F, node, g, indices: (F.embedding_spread(g, indices, **node.kw), None),
    saves=(1,),
    node="IndexSelectBackward0",
)

__all__: list[str] = []
