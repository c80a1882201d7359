"""Rows of a table by index, and the gradient of the table: the sums of the rows' gradients."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import array_module
from mpigrad._kernels.runs import rows_added, sums_of_bags, take_rows

from .._define.operator import operator


def _take(table: Any, indices: Any, **kw: Any) -> Any:
    return take_rows(table, indices)


def _weights(indices: Any, padding_idx: int, scale: bool) -> Any:
    """The factor of each row in the gradient: 0 for the padding row, and with `scale` one over the number of its occurrences.

    None if all factors are 1.
    """
    if padding_idx < 0 and not scale:
        return None
    xp = array_module(indices)
    found = xp.ones(indices.shape) if padding_idx < 0 else (indices != padding_idx).astype("f8")
    if scale:
        _, inverse, many = xp.unique(indices, return_inverse=True, return_counts=True)
        found = found / many[inverse.reshape(indices.shape)]
    return found[..., None]


def _spread(g: Any, indices: Any, *, rows: int, padding_idx: int, scale: bool) -> Any:
    """The gradient of the table: zeros, to which the gradient of each looked-up row is added; `scale` as in `_weights`."""
    factor = _weights(indices, padding_idx, scale)
    if factor is not None:
        g = (g * factor).astype(g.dtype)
    return rows_added(indices.reshape(-1), g.reshape(indices.size, g.shape[-1]), rows)


def _take_weighted(table: Any, indices: Any, *, rows: int, padding_idx: int, scale: bool) -> Any:
    found, factor = take_rows(table, indices), _weights(indices, padding_idx, scale)
    return found if factor is None else (found * factor).astype(table.dtype)


def _table_gradient(F: Any, node: Any, g: Any, indices: Any) -> Any:
    """The gradient of the table, from the gradients of the rows that were looked up."""
    kw = node.kw
    how = {"rows": node.shapes[0][0], "padding_idx": kw["padding_idx"], "scale": kw["scale"]}
    if kw["sparse"]:
        if kw["scale"]:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        return F.embedding_rows(g, indices, **how)
    return F.embedding_spread(g, indices, **how)


def _backward(F: Any, node: Any, g: Any, indices: Any) -> Any:
    return _table_gradient(F, node, g, indices), None


embedding = operator("embedding", _take, _backward, saves=(1,), node="EmbeddingBackward0")


def _bags(table: Any, indices: Any, starts: Any, by: Any = None, **kw: Any) -> Any:
    """The sums of the rows `indices[starts[b] : starts[b + 1]]`, divided by `by` if given."""
    made = sums_of_bags(table, indices, starts[:-1], array_module(table).diff(starts))
    if by is not None:
        made /= by
    return made


def _bag_numbers(starts: Any) -> Any:
    xp = array_module(starts)
    return xp.arange(starts.shape[0] - 1).repeat(xp.diff(starts))


def _bags_backward(F: Any, node: Any, g: Any, indices: Any, starts: Any, by: Any) -> Any:
    g = g if by is None else g / by
    rows = F.embedding_take(g, F.bag_numbers(starts), rows=node.shapes[2][0] - 1, padding_idx=-1, scale=False)
    return _table_gradient(F, node, rows, indices), None, None, None


# (table, its rows' numbers, where each bag starts and the last ends, what each sum is divided by) -> one row per bag
embedding_bags = operator("embedding_bags", _bags, _bags_backward, saves=(1, 2, 3), node="EmbeddingBagBackward0")
operator("bag_numbers", _bag_numbers, lambda F, node, g: None, node="BagNumbersBackward0")


def _bag_backward(F: Any, node: Any, h: Any, starts: Any) -> Any:
    bags = F.bag_numbers(starts)
    return F.embedding_take(h, bags, rows=node.shapes[1][0] - 1, padding_idx=-1, scale=False), None


# (rows, where each bag starts and the last ends) -> one row per bag
bag_sum = operator(
    "embedding_bag",
    lambda x, starts: _bags(x, array_module(x).arange(x.shape[0]), starts),
    _bag_backward,
    saves=(1,),
    node="EmbeddingBagBackward0",
)
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
