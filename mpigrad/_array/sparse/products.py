"""Products of a sparse matrix with a dense one."""

from __future__ import annotations

from typing import Any

from mpigrad._kernels.runs import rows_added

from .array import SparseArray


def matrix(a: Any, name: str) -> SparseArray:
    """Raise an error unless `a` is a matrix with two sparse dimensions."""
    if a.ndim != 2 or a.sparse_dim != 2:
        raise RuntimeError(
            f"{name}: expected a sparse matrix with 2 sparse dimensions, got {a.ndim} dimensions, {a.sparse_dim} sparse"
        )
    return a


def times_dense(a: SparseArray, b: Any) -> Any:
    """The matrix product `a @ b` of a sparse and a dense matrix, as a dense matrix."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[-1]})"
        )
    rows, columns = a.indices
    return rows_added(rows, a.values[:, None] * b[columns], a.shape[0])


def transposed_times_dense(a: SparseArray, g: Any) -> Any:
    """The matrix product `a.T @ g` of a transposed sparse and a dense matrix, as a dense matrix."""
    rows, columns = a.indices
    return rows_added(columns, a.values[:, None] * g[rows], a.shape[1])


def sampled(a: SparseArray, g: Any, b: Any) -> SparseArray:
    """g @ b.T at the indices of `a` only: the gradient of a sparse factor."""
    a = a.distinct()
    rows, columns = a.indices
    return a.with_values((g[rows] * b[columns]).sum(axis=1))
