"""Steps on the rows for which a sparse gradient has values: read, changed and written in pieces that stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._device import array_module
from .._kernels.runs import ordered, sorted_runs, sums_of_runs, take_rows

_PIECE = 1 << 17  # bytes


def rows_of(grad: Any) -> Iterator[tuple[Any, Any]]:
    """A sparse gradient piece by piece: an index of the parameter's array, and the values there. No place comes twice."""
    grad = grad.coalesce()
    if grad.sparse_dim != 1:
        yield tuple(grad.indices), grad.values
        return
    places, values = grad.indices[0], grad.values
    step = _rows_per_piece(values)
    for start in range(0, places.shape[0], step):
        yield places[start : start + step], values[start : start + step]


def read(array: Any, rows: Any) -> Any:
    """The rows of an array that `rows_of` named, in memory of their own."""
    return array[rows] if rows.__class__ is tuple else take_rows(array, rows)


def add_to_rows(array: Any, grad: Any, factor: float) -> None:
    """Add a sparse gradient, times a factor, to the rows for which it has values.

    Places may repeat: the pieces are added one after the other, so only repeats inside a piece have to be brought together."""
    by = array.dtype.type(factor)
    if grad.sparse_dim != 1 or array_module(array) is not np:
        each = grad.coalesce()
        array[tuple(each.indices)] += each.values * by
        return
    places, values = grad.indices[0], grad.values
    step = _rows_per_piece(values)
    repeating = _repeating(grad, step)
    for nth, start in enumerate(range(0, places.shape[0], step)):
        part, change = places[start : start + step], values[start : start + step] * by
        if nth in repeating:
            order, starts = sorted_runs(part, array.shape[0])
            part, change = part[order[starts]], sums_of_runs(change, order, starts)
        change += take_rows(array, part)
        array[part] = change


def _rows_per_piece(values: Any) -> int:
    return max(1, _PIECE // max(1, values[:1].nbytes))


def _repeating(grad: Any, step: int) -> set[int]:
    """The numbers of those pieces of a gradient in which a place comes more than once."""
    if grad.is_coalesced:
        return set()
    order, found = ordered(grad.indices[0], grad.shape[0])
    same = np.flatnonzero(found[1:] == found[:-1])
    first, second = order[same] // step, order[same + 1] // step
    return set(first[first == second].tolist())
