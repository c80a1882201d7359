"""Counting and searching: bincount, histc, searchsorted, bucketize, isin."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._core.tensor import wrap
from mpigrad._tensor import Tensor, method

from .._define.arguments import title
from .._define.guarded import guarded
from .._define.out import deliver


@method
@guarded
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The number of occurrences of each integer 0, 1, ... in a vector of non-negative integers.

    `weights`: sum these numbers, one for each element, instead of counting. `minlength`: the least length of the
    result.

    >>> import mpigrad
    >>> mpigrad.bincount(mpigrad.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{title(array)}'")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if array.ndim != 1 or array.size and array.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._array.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    xp = array_module(array)
    if weights is None:
        return wrap(xp.bincount(array, minlength=minlength).astype(np.int64))
    kind = weights._array.dtype if weights._array.dtype == np.float32 else np.float64
    return wrap(xp.bincount(array, weights._array, minlength).astype(kind))


@method
@guarded
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Tensor | None = None) -> Tensor:
    """The number of elements in each of `bins` equal bins between `min` and `max`; elements outside are not counted.

    If `min` equals `max`, the bins go from the smallest to the largest element. `out`: a tensor to which the result
    is written.

    >>> import mpigrad
    >>> mpigrad.histc(mpigrad.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    array = input._array
    if array.dtype.kind not in "fV":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{title(array)}'")
    if bins <= 0:
        raise RuntimeError(f"mpigrad.histc(): bins must be > 0, but got {bins}")
    if max < min:
        raise RuntimeError("mpigrad.histc(): max must be larger than min")
    low, high = (min, max) if min != max or not array.size else (float(array.min()), float(array.max()))
    if low == high:
        low, high = low - 1, high + 1
    inside = array[(array >= low) & (array <= high)].astype(np.float64)
    place = np.minimum(((inside - low) * bins / (high - low)).astype(np.int64), bins - 1)
    return deliver(wrap(array_module(array).bincount(place, minlength=bins).astype(array.dtype)), out)


@guarded
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The indices at which the values `input` would have to be inserted into `sorted_sequence` to keep it sorted.

    - `sorted_sequence`: sorted along its last dimension; a vector, or one row for each row of `input`.
    - `right` (or `side="right"`): of equal elements, after the last one instead of before the first one.
    - `out_int32`: int32 results instead of int64. `sorter`: the indices that sort `sorted_sequence`, if it is not
      sorted. `out`: a tensor to which the result is written.

    >>> import mpigrad
    >>> mpigrad.searchsorted(mpigrad.tensor([1, 3, 5]), mpigrad.tensor([3, 4]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"mpigrad.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "mpigrad.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    rows = sorted_sequence._array
    if sorter is not None:
        rows = np.take_along_axis(rows, sorter._array, -1)
    values = input._array if isinstance(input, Tensor) else np.asarray(input)
    if rows.ndim > 1 and rows.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "mpigrad.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and input value "
            "tensor "
            f"{list(values.shape)}"
        )
    where = "right" if right or side == "right" else "left"
    return deliver(wrap(_search(rows, values, where).astype(np.int32 if out_int32 else np.int64)), out)


def _search(rows: Any, values: Any, side: str) -> Any:
    xp = array_module(rows)
    if rows.ndim == 1:
        return xp.asarray(xp.searchsorted(rows, values, side))
    made = xp.empty(values.shape, np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        made[place] = xp.searchsorted(rows[place], values[place], side)
    return made


@guarded
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Tensor | None = None
) -> Tensor:
    """For each element of `input`, the index of the bucket into which it falls: how many of the sorted `boundaries`
    are below it.

    `right`: how many are below it or equal. `out_int32`: int32 results instead of int64. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.bucketize(mpigrad.tensor([3, 6, 9]), mpigrad.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
    """
    if boundaries._array.ndim != 1:
        raise RuntimeError(
            f"mpigrad.bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries._array.ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


def isin(
    elements: Any = None, test_elements: Any = None, *, assume_unique: bool = False, invert: bool = False,
    out: Tensor | None = None, element: Any = None, test_element: Any = None,
) -> Tensor:  # fmt: skip
    """Whether each element is one of `test_elements`: a tensor of bools with the shape of `elements`; either may be a
    number.

    `invert`: whether it is none of them. `assume_unique` has no effect on the result. `out`: a tensor to which the
    result is written.

    >>> import mpigrad
    >>> mpigrad.isin(mpigrad.tensor([1, 2]), mpigrad.tensor([2, 3]))
    tensor([False,  True])
    """
    elements = element if elements is None else elements  # PyTorch's names of single numbers
    test_elements = test_element if test_elements is None else test_elements
    first = elements._array if isinstance(elements, Tensor) else np.asarray(elements)
    second = test_elements._array if isinstance(test_elements, Tensor) else np.asarray(test_elements)
    xp = array_module(first)
    return deliver(wrap(xp.asarray(xp.isin(first, second, assume_unique=assume_unique, invert=invert))), out)


__all__ = ["bincount", "bucketize", "histc", "isin", "searchsorted"]
