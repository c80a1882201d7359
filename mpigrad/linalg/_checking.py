"""Checks of linear algebra functions, with PyTorch's error messages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array.device import array_module, host
from .._ops._define.arguments import need_tensors, title
from .._tensor import Tensor


class LinAlgError(RuntimeError):
    """Raised for a matrix for which there is no result: it is singular, or not positive definite."""


def check_matrix(name: str, a: Tensor, square: bool = False, argument: str = "A") -> None:
    """Raise an error unless the argument is a matrix, or a batch of matrices, of floating-point numbers (square, if required)."""
    need_tensors(name, **{argument: a})
    x = a._array
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} "
            "matrices"
        )
    if x.dtype.kind not in "fc":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {title(x)}")
    if x.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {title(x)}")


def check_same_type(name: str, a: Tensor, b: Tensor) -> None:
    """Raise PyTorch's error for operands of different element types."""
    if a._array.dtype != b._array.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {title(a._array)} and B of type "
            f"{title(b._array)} instead"
        )


def _zero_pivot(a: Any) -> int:
    """The number (from 1) of the first zero on the diagonal of U in an LU factorization; 0 if there is none."""
    u = np.array(host(a))
    n = u.shape[0]
    for k in range(n):
        row = k + int(np.abs(u[k:, k]).argmax())
        if u[row, k] == 0:
            return k + 1
        u[[k, row]] = u[[row, k]]
        u[k + 1 :, k:] -= np.outer(u[k + 1 :, k] / u[k, k], u[k, k:])
    return 0


def _bad_minor(a: Any) -> int:
    """The order of the first leading minor that is not positive definite; 0 if there is none."""
    for order in range(1, a.shape[0] + 1):
        try:
            np.linalg.cholesky(host(a)[:order, :order])
        except np.linalg.LinAlgError:
            return order
    return 0


def infos(a: Any, find: Any) -> Any:
    """The results of `find` for all matrices of a batch, as 32-bit integers."""
    flat = a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    found = np.array([find(each) for each in flat], np.int32).reshape(a.shape[:-2])
    return array_module(a).asarray(found)


def singular_infos(a: Any) -> Any:
    """For each matrix, 0 or the number of its first zero pivot."""
    return infos(a, _zero_pivot)


def indefinite_infos(a: Any) -> Any:
    """For each matrix, 0 or the order of its first leading minor that is not positive definite."""
    return infos(a, _bad_minor)


def raise_singular(name: str, a: Any, found: Any = None) -> None:
    """Raise a LinAlgError for the first singular matrix of a batch; `name` and `found` as in `raise_indefinite`."""
    where, order = _first(singular_infos(a) if found is None else found, a)
    raise LinAlgError(
        f"{name}: {where}The diagonal element {order} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


def raise_indefinite(name: str, a: Any, found: Any = None) -> None:
    """Raise a LinAlgError for the first matrix of a batch that is not positive definite.

    `name` is the function that the error names, `found` the result of `indefinite_infos` if it is known.
    """
    where, order = _first(indefinite_infos(a) if found is None else found, a)
    raise LinAlgError(
        f"{name}: {where}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {order} is not positive-definite)."
    )


def _first(found: Any, a: Any) -> tuple[str, int]:
    flat = host(found).ravel()
    place = int(np.flatnonzero(flat)[0]) if flat.any() else 0
    return (f"(Batch element {place}): " if a.ndim > 2 else ""), int(flat[place]) or a.shape[-1]
