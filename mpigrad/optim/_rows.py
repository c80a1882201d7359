"""Optimizer steps on the rows of a sparse gradient: read, updated and written in pieces that fit into the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import loops
from .._kernels.runs import ordered, put_rows, sorted_runs, sums_of_runs, take_rows

_PIECE = 1 << 17  # bytes
_FEW = 32  # up to this many duplicates in a piece are added one by one


def rows_of(grad: Any) -> Iterator[tuple[Any, Any]]:
    """Iterate over pieces of a sparse gradient as pairs (index into the parameter's array, values there); each row
    occurs once.
    """
    grad = grad.coalesce()
    if grad.sparse_dim != 1:
        yield tuple(grad.indices), grad.values
        return
    places, values = grad.indices[0], grad.values
    step = _rows_per_piece(values)
    for start in range(0, places.shape[0], step):
        yield places[start : start + step], values[start : start + step]


def read(array: Any, rows: Any) -> Any:
    """A copy of the rows of an array at an index from `rows_of`."""
    return array[rows] if rows.__class__ is tuple else take_rows(array, rows)


def write(array: Any, rows: Any, values: Any) -> None:
    """Write values to the rows of an array at an index from `rows_of`."""
    if rows.__class__ is tuple:
        array[rows] = values
    else:
        put_rows(array, rows, values)


def add_to_rows(array: Any, grad: Any, factor: float) -> None:
    """Add a sparse gradient, times a factor, to the rows for which it has values.

    Indices may repeat. Without a compiled loop the pieces are added one after the other, so that only duplicates inside a piece
    have to be combined."""
    by = array.dtype.type(factor)
    if grad.sparse_dim != 1 or array_module(array) is not np:
        each = grad.coalesce()
        array[tuple(each.indices)] += each.values * by
        return
    places, values = grad.indices[0], grad.values
    if loops.add_scaled(array, places, values, by):
        return
    step = _rows_per_piece(values)
    repeats = {} if grad.is_coalesced else _repeats(places, array.shape[0], step)
    for start in range(0, places.shape[0], step):
        part, change = places[start : start + step], values[start : start + step] * by
        again = repeats.get(start)
        if again is not None:
            if len(again) > _FEW:
                order, starts = sorted_runs(part, array.shape[0])
                part, change = part[order[starts]], sums_of_runs(change, order, starts)
            else:
                _bring_together(change, again)
        change += take_rows(array, part)
        put_rows(array, part, change)


def _rows_per_piece(values: Any) -> int:
    return max(1, _PIECE // max(1, values[:1].nbytes))


def _repeats(places: Any, bound: int, step: int) -> dict[int, list[tuple[int, int]]]:
    """The pairs of consecutive rows of `places` with the same index, by the start of the piece (of `step` rows) in
    which they are.
    """
    order, found = ordered(places, bound)
    same = np.flatnonzero(found[1:] == found[:-1])
    made: dict[int, list[tuple[int, int]]] = {}
    for first, second in zip(order[same].tolist(), order[same + 1].tolist()):
        if first // step == second // step:
            made.setdefault(first // step * step, []).append((first % step, second % step))
    return made


def _bring_together(change: Any, pairs: list[tuple[int, int]]) -> None:
    """Replace the values of rows with the same index by their sum, so that it does not matter which of them is written last."""
    for first, second in pairs:
        change[second] += change[first]
    for first, second in reversed(pairs):
        change[first] = change[second]
