"""Products of a sparse matrix with a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from .array import SparseArray
from .runs import sorted_runs, sums_of_runs


def matrix(a: Any, name: str) -> SparseArray:
    """Insist on a matrix whose both dimensions are sparse."""
    if a.ndim != 2 or a.sparse_dim != 2:
        raise RuntimeError(
            f"{name}: expected a sparse matrix with 2 sparse dimensions, got {a.ndim} dimensions, {a.sparse_dim} sparse"
        )
    return a


def times_dense(a: SparseArray, b: Any) -> Any:
    """a @ b, dense."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[-1]})"
        )
    rows, columns = a.indices
    return add_rows(a.shape[0], rows, a.values[:, None] * b[columns])


def transposed_times_dense(a: SparseArray, g: Any) -> Any:
    """a.T @ g, dense."""
    rows, columns = a.indices
    return add_rows(a.shape[1], columns, a.values[:, None] * g[rows])


def sampled(a: SparseArray, g: Any, b: Any) -> SparseArray:
    """g @ b.T at the places of `a` only: the gradient of a sparse factor."""
    a = a.distinct()
    rows, columns = a.indices
    return a.with_values((g[rows] * b[columns]).sum(axis=1))


def add_rows(count: int, places: Any, rows: Any) -> Any:
    """`count` rows, each the sum of the rows that have its place."""
    xp = array_module(rows)
    made = xp.zeros((count, *rows.shape[1:]), rows.dtype)
    if not rows.shape[0]:
        return made
    if xp is not np:
        xp.add.at(made, places, rows)
        return made
    order, starts = sorted_runs(places, count)
    made[places[order[starts]]] = sums_of_runs(rows, order, starts)
    return made
