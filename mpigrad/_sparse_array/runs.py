"""Adding up the rows of equal keys: sort the keys, then sum the runs of equal ones. For NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

FEW = 8  # up to so many rows of one key are added one after the other, all keys at once


def sorted_runs(keys: Any) -> tuple[Any, Any]:
    """The order that sorts the keys (equal ones stay as they were), and where in it each run of equal keys starts."""
    order = np.argsort(keys, kind="stable")
    ordered = keys.take(order)
    new = np.empty(ordered.shape[0], bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return order, np.flatnonzero(new)


def sums_of_runs(rows: Any, order: Any, starts: Any) -> Any:
    """For each run the sum of its rows, in memory of its own.

    NumPy's `reduceat` takes a microsecond for each run, however short. Most runs of looked up rows have one row, so the
    first rows of all runs are taken together, then the second ones of those that have one are added, and so on."""
    made = rows.take(order[starts], axis=0)
    if starts.shape[0] == rows.shape[0] or not rows.size:
        return made
    lengths = np.diff(starts, append=order.shape[0])
    if int(lengths.max()) > FEW:
        return np.add.reduceat(rows.take(order, axis=0), starts, axis=0, dtype=rows.dtype)
    longer = np.flatnonzero(lengths > 1)
    nth = 1
    while longer.size:
        made[longer] += rows.take(order[starts[longer] + nth], axis=0)
        nth += 1
        longer = longer[lengths[longer] > nth]
    return made
