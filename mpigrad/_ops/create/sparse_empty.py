"""Sparse arrays without stored elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.sparse.array import SparseArray

from .data import build


def empty_sparse(place: Any, like: Any, kind: np.dtype) -> SparseArray:
    """A sparse array without stored elements, with the shape and the numbers of sparse and dense dimensions of `like`; if `like`
    is dense, all dimensions are sparse.
    """
    count = like.sparse_dim if like.__class__ is SparseArray else like.ndim
    return empty_of_shape(place, like.shape, count, kind)


def empty_of_shape(place: Any, shape: tuple[int, ...], sparse_dim: int, kind: np.dtype) -> SparseArray:
    """A sparse array of this shape without stored elements; its first `sparse_dim` dimensions are sparse."""
    indices = build(place, "empty", (sparse_dim, 0), np.dtype(np.int64))
    return SparseArray(indices, build(place, "empty", (0, *shape[sparse_dim:]), kind), shape, True)
