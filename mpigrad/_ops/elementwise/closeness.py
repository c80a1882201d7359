"""Equality and approximate equality of tensors: equal, isclose, allclose."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import need_tensors, title
from .._define.binary import check_shapes
from .._define.guarded import guarded
from .._define.operator import check_one_device, refuse_sparse


@guarded
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements: a Python bool.

    >>> import mpigrad
    >>> mpigrad.equal(mpigrad.ones(2), mpigrad.ones(2))
    True
    """
    need_tensors("equal", input=input, other=other)
    check_one_device("equal", [input._array, other._array])
    if input.is_sparse or other.is_sparse:
        return (
            input.shape == other.shape
            and input.is_sparse == other.is_sparse
            and _equal_sparse(input._array, other._array)
        )
    return input._array.shape == other._array.shape and bool((input._array == other._array).all())


def _equal_sparse(a: Any, b: Any) -> bool:
    """Whether two sparse arrays represent the same elements; a stored zero is equal to an element that is not stored."""
    if a.sparse_dim != b.sparse_dim:
        return bool((a.to_dense() == b.to_dense()).all())
    return bool(
        (a.values_at(b.indices) == b.values_at(b.indices)).all()
        and (a.values_at(a.indices) == b.values_at(a.indices)).all()
    )


@guarded
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether elements differ by at most `atol + rtol * |other|`: a tensor of bools.

    `equal_nan`: two nans count as equal. Both tensors must have the same type.

    >>> import mpigrad
    >>> mpigrad.isclose(mpigrad.tensor([1.0, 2.0]), mpigrad.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    need_tensors("isclose", input=input, other=other)
    x, y = input._array, other._array
    if x.dtype != y.dtype:
        raise RuntimeError(f"{title(x)} did not match {title(y)}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    check_one_device("isclose", [x, y])
    if input.is_sparse or other.is_sparse:
        refuse_sparse("eq", input if input.is_sparse else other)
    check_shapes(x, y)
    close = x == y
    if equal_nan and x.dtype.kind in "fcV":
        close = close | ((x != x) & (y != y))
    if rtol or atol:
        close = close | _within(x, y, rtol, atol)
    return wrap(np.asarray(close) if isinstance(close, np.generic) else close)


def _within(x: np.ndarray, y: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    if x.dtype.kind in "biu":
        x, y = x.astype("f8"), y.astype("f8")
    difference = np.abs(x - y)
    return np.isfinite(difference) & (difference <= atol + np.abs(rtol * y))


@guarded
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements of two tensors are close: a Python bool. The arguments are those of `isclose`.

    >>> import mpigrad
    >>> mpigrad.allclose(mpigrad.tensor([1.0]), mpigrad.tensor([1.0000001]))
    True
    """
    need_tensors("allclose", input=input, other=other)
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


for _fn in (equal, isclose, allclose):
    method(_fn)

__all__ = ["allclose", "equal", "isclose"]
