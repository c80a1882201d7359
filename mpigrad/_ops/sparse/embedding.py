"""The sparse gradient of an embedding table: the gradients of the rows, at their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.sparse.array import SparseArray

from .._define.operator import operator
from .._define.sparse_calls import on_arrays
from ..nn.embedding import _weights

__all__: list[str] = []


def _rows(g: Any, indices: Any, *, rows: int, padding_idx: int, scale: bool) -> SparseArray:
    width = g.shape[-1]
    places, values = indices.reshape(1, -1).astype(np.int64, copy=False), g.reshape(-1, width)
    if scale:
        factor = _weights(indices, -1, True)
        values = (values * factor.reshape(-1, 1)).astype(g.dtype)
    if padding_idx >= 0:
        kept = places[0] != padding_idx
        places, values = places[:, kept], values[kept]
    return SparseArray(places, values, (rows, width))


embedding_rows = operator(
    "embedding_rows", _rows,
    lambda F, node, h, indices: (F.embedding_take(F.dense_gradient(h), indices, **node.kw), None),
    saves=(1,), node="EmbeddingSparseBackward0",
)  # fmt: skip
embedding_rows.sparse = on_arrays
