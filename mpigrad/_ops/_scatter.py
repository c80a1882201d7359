"""Adding at indices, where several may be the same: what gradients of gathering need."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module

Key = tuple[Any, ...]  # integer arrays and full slices


def add_at(into: Any, key: Key, values: Any) -> None:
    """`into[key] += values`, adding up where the key names an element more than once."""
    xp = array_module(into)
    if xp is not np:
        xp.add.at(into, key, values)
        return
    dims = [dim for dim, each in enumerate(key) if each.__class__ is not slice]
    if dims != list(range(len(key))):
        _add_general(into, key, values, dims)
    elif into.size == 0:
        np.add.at(into, key, values)
    else:
        _add_rows(into, key, values)


def _add_general(into: Any, key: Key, values: Any, dims: list[int]) -> None:
    """Bring the indexed dimensions to the front, in a view, and the values with them."""
    rest = [dim for dim in range(into.ndim) if dim not in dims]
    arrays = np.broadcast_arrays(*(key[dim] for dim in dims))
    count = arrays[0].ndim
    if dims == list(range(dims[0], dims[-1] + 1)):  # side by side: their result stands where they stood
        values = np.moveaxis(values, range(dims[0], dims[0] + count), range(count))
    add_at(into.transpose(dims + rest), tuple(arrays), values)


def _add_rows(into: Any, key: Key, values: Any) -> None:
    """Add rows (or single elements) named by one number each, so that NumPy's quick roads can be taken."""
    arrays = np.broadcast_arrays(*key) if len(key) > 1 else key
    count = len(arrays)
    shape, rest = into.shape[:count], into.shape[count:]
    flat = _flat(arrays, shape)
    rows = np.broadcast_to(values, arrays[0].shape + rest).reshape((flat.size, *rest))
    if rest:
        _add_sorted(into, shape, flat, rows)
    elif into.flags.c_contiguous:
        np.add.at(into.reshape(-1), flat, rows)
    else:
        np.add.at(into, tuple(arrays), values)


def _flat(arrays: Any, shape: tuple[int, ...]) -> Any:
    """One number for each tuple of indices; indices from the end are allowed."""
    made: Any = 0
    for each, length in zip(arrays, shape):
        place = each.reshape(-1)
        if place.size and place.min() < 0:
            place = np.where(place < 0, place + length, place)
        made = made * length + place
    return made


def _add_sorted(into: Any, shape: tuple[int, ...], flat: Any, rows: Any) -> None:
    """Sum the rows of equal index first (after sorting), then add each sum once: far faster than element by element."""
    if not flat.size:
        return
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if starts.size == flat.size:
        where, sums = flat, rows
    else:
        where, sums = ordered[starts], np.add.reduceat(rows[order], starts, axis=0)
    into[np.unravel_index(where, shape) if len(shape) > 1 else where] += sums
