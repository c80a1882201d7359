"""Addition at indices that may repeat, for gradients of gathers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._array.device import array_module
from mpigrad._kernels.kernel import COMPLEX, FLOATS, INTEGERS, either
from mpigrad._kernels.runs import scatter_rows

Key = tuple[Any, ...]  # integer arrays and full slices
_PIECE = 1 << 16  # elements


def add_at(into: Any, key: Key, values: Any) -> None:
    """`into[key] += values`; if the key names an element several times, all its values are added."""
    dims = [dim for dim, each in enumerate(key) if each.__class__ is not slice]
    if dims != list(range(len(key))):
        _add_general(into, key, values, dims)
    elif into.size:
        _add_rows(into, key, values)
    elif into.__class__ is np.ndarray:
        np.add.at(into, key, values)  # no elements, but checks the indices


# Operations that CuPy implements with atomics. Its minima and maxima of doubles have single precision (14.2) and ignore nan.
_ATOMIC = {"add": "i4 i8 u4 u8 f2 f4 f8 c8 c16", "maximum": "i4 i8 u4 u8", "minimum": "i4 i8 u4 u8"}


def combine_at(function: str, into: Any, key: Key, values: Any) -> None:
    """`into[key] = function(into[key], values)`; if the key names an element several times, its values are combined one after the
    other.
    """
    xp = array_module(into)
    if xp is np or into.dtype.str[1:] in _ATOMIC.get(function, "").split():
        getattr(xp, function).at(into, key, values)
    else:
        _combine_sorted(getattr(xp, function), into, key, values, xp)


def _combine_sorted(function: Any, into: Any, key: Key, values: Any, xp: Any) -> None:
    """`combine_at` for functions without an atomic operation on GPUs: values with the same index are sorted together, and a
    parallel scan combines them, doubling its span in each step."""
    places = xp.arange(into.size).reshape(into.shape)[key]
    order = xp.argsort(places, axis=None)
    held = xp.broadcast_to(values, places.shape).reshape(-1)[order].astype(into.dtype)
    places, span = places.reshape(-1)[order], 1
    while span < places.size:
        same = places[span:] == places[:-span]
        held[span:] = xp.where(same, function(held[:-span], held[span:]), held[span:])
        span *= 2
    # after the scan the last of each run holds the combination of all values of its index
    last = xp.ones(places.shape, bool)
    last[:-1] = places[1:] != places[:-1]
    flat, chosen = into.reshape(-1), places[last]
    flat[chosen] = function(flat[chosen], held[last])
    if not into.flags.c_contiguous:
        into[...] = flat.reshape(into.shape)


def _add_general(into: Any, key: Key, values: Any, dims: list[int]) -> None:
    """The general case of `add_at`: move the indexed dimensions to the front of a view, and of the values, and add rows."""
    rest = [dim for dim in range(into.ndim) if dim not in dims]
    arrays = np.broadcast_arrays(*(key[dim] for dim in dims))
    count = arrays[0].ndim
    if dims == list(range(dims[0], dims[-1] + 1)):  # adjacent: the result dimensions stay at their position
        values = np.moveaxis(values, range(dims[0], dims[0] + count), range(count))
    add_at(into.transpose(dims + rest), tuple(arrays), values)


def _add_rows(into: Any, key: Key, values: Any) -> None:
    """`into[key] += values` for a key of one index array in the first dimension, for which NumPy has fast functions."""
    arrays = np.broadcast_arrays(*key) if len(key) > 1 else key
    count = len(arrays)
    shape, rest = into.shape[:count], into.shape[count:]
    flat = _flat(arrays, shape)
    rows = np.broadcast_to(values, arrays[0].shape + rest).reshape((flat.size, *rest))
    if into.flags.c_contiguous:
        _add_elements(into.reshape(-1), flat, rows)
    else:
        # reshape(-1) of a non-contiguous array would be a copy, so add to a contiguous one first
        sums = array_module(into).zeros(into.shape, into.dtype)
        _add_elements(sums.reshape(-1), flat, rows)
        into += sums


def _flat(arrays: Any, shape: tuple[int, ...]) -> Any:
    """One flat index, into an array of this shape, for each tuple of indices; negative indices count from the end."""
    made: Any = 0
    for each, length in zip(arrays, shape):
        place = each.reshape(-1).astype(np.int64, copy=False)
        if place.__class__ is not np.ndarray or place.size and place.min() < 0:  # not checked on a GPU: that would synchronise
            place = np.where(place < 0, place + length, place)
        made = made * length + place
    return made


def _on_host(into: Any, flat: Any, rows: Any) -> None:
    """Add rows element by element, which NumPy does fastest with one index into one vector. In pieces, since the
    indices of single elements take more memory than the rows."""
    width = rows[:1].size if rows.size else 1
    if width == 1:
        np.add.at(into, flat, rows.reshape(-1))
        return
    step, inner = max(1, _PIECE // width), np.arange(width)
    for start in range(0, flat.size, step):
        places = flat[start : start + step, None] * width + inner
        np.add.at(into, places.reshape(-1), rows[start : start + step].reshape(-1))


def _on_device(into: Any, flat: Any, rows: Any) -> None:
    if rows.size:
        width = rows.size // flat.size
        scatter_rows(into.reshape(-1, width), flat, rows.reshape(-1, width))


_add_elements = either(_on_host, _on_device, FLOATS + INTEGERS + COMPLEX + "?")
