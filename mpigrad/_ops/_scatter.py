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
    elif len(key) == into.ndim or into.size == 0:
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
    """Sum the rows of equal index first (after sorting), then add each sum once: far faster than element by element."""
    arrays = np.broadcast_arrays(*key)
    shape = into.shape[: len(arrays)]
    flat = np.ravel_multi_index([np.where(each < 0, each + n, each).ravel() for each, n in zip(arrays, shape)], shape)
    rows = np.broadcast_to(values, arrays[0].shape + into.shape[len(arrays) :]).reshape((flat.size, *into.shape[len(arrays) :]))
    if not flat.size:
        return
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sums = rows if starts.size == flat.size else np.add.reduceat(rows[order], starts, axis=0)
    where = np.unravel_index(flat if starts.size == flat.size else ordered[starts], shape)
    into[where] += sums
