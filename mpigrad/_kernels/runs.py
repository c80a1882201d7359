"""Rows added up by number: bags of rows, rows with equal keys, rows scattered into a table. No atomics, so every sum has one
order, and its result is the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._device import array_module
from .kernel import COMPLEX, FLOATS, INTEGERS, Kernel, blocks_for, either, launch, letters_of

_ALL = {"T": FLOATS + INTEGERS}
_FEW = 8  # up to so many rows of one key are added one after the other, all keys at once

RUN_SUMS = Kernel(
    "run_sums",
    "const T* rows, const i64* order, const i64* starts, const T* factor, T* made, i64 runs, i64 width, i64 mean",
    """
  EACH(i, runs * width) {
    i64 run = i / width, column = i % width, end = starts[run + 1];
    A sum = 0;
    for (i64 k = starts[run]; k < end; k++) {
      A each = rows[order[k] * width + column];
      sum += factor ? each * (A)factor[k] : each;
    }
    if (mean && end - starts[run] > 1) sum = sum / (A)(end - starts[run]);
    made[i] = (T)sum;
  }""",
    _ALL,
)
SCATTER_ROWS = Kernel(
    "scatter_rows",
    "T* into, const i64* keys, const i64* order, const T* rows, i64 count, i64 width",
    """
  EACH(i, count * width) {
    i64 k = i / width, column = i % width, key = keys[k];
    if (k && keys[k - 1] == key) continue;  // the first of a run adds up all of it
    A sum = 0;
    for (; k < count && keys[k] == key; k++) sum += (A)rows[order[k] * width + column];
    into[key * width + column] = (T)((A)into[key * width + column] + sum);
  }""",
    _ALL,
)
RUN_ARGMAX = Kernel(
    "run_argmax",
    "const T* rows, const i64* starts, i64* made, i64 runs, i64 width",
    """
  EACH(i, runs * width) {
    i64 run = i / width, column = i % width, best = starts[run];
    for (i64 k = best + 1; k < starts[run + 1]; k++) {
      A held = rows[best * width + column], each = rows[k * width + column];
      if (each > held || (each != each && held == held)) best = k;
    }
    made[i] = starts[run + 1] > starts[run] ? best : -1;
  }""",
)


def sorted_runs(keys: Any) -> tuple[Any, Any]:
    """The order that sorts the keys (equal ones stay as they were), and where in it each run of equal keys starts."""
    xp = array_module(keys)
    order = xp.argsort(keys, kind="stable")
    ordered = keys.take(order)
    new = xp.empty(ordered.shape[0], bool)
    new[:1] = True
    xp.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return order, xp.flatnonzero(new)


def _as_numbers(rows: Any) -> Any:
    """Rows as a contiguous matrix of plain numbers: a complex one is two, and sums of complex numbers are theirs."""
    made = array_module(rows).ascontiguousarray(rows).reshape(rows.shape[0], -1)
    return made.view(made.real.dtype) if made.dtype.kind == "c" else made


def _sums_of_runs(rows: Any, order: Any, starts: Any) -> Any:
    """For each run the sum of its rows, in memory of its own.

    NumPy's `reduceat` takes a microsecond for each run, however short. Most runs of looked up rows have one row, so the
    first rows of all runs are taken together, then the second ones of those that have one are added, and so on."""
    made = rows.take(order[starts], axis=0)
    if starts.shape[0] == rows.shape[0] or not rows.size:
        return made
    lengths = np.diff(starts, append=order.shape[0])
    if int(lengths.max()) > _FEW:
        return np.add.reduceat(rows.take(order, axis=0), starts, axis=0, dtype=rows.dtype)
    longer = np.flatnonzero(lengths > 1)
    nth = 1
    while longer.size:
        made[longer] += rows.take(order[starts[longer] + nth], axis=0)
        nth += 1
        longer = longer[lengths[longer] > nth]
    return made


def _sums_on_device(rows: Any, order: Any, starts: Any) -> Any:
    xp, runs = array_module(rows), starts.shape[0]
    if not rows.size:
        return xp.zeros((runs, *rows.shape[1:]), rows.dtype)
    ends = xp.concatenate([starts, xp.full(1, order.shape[0], starts.dtype)])
    return _bags_on_device(rows, order, ends)


def _bags(rows: Any, order: Any, starts: Any, factor: Any = None, mean: bool = False) -> Any:
    """One row for each bag: the sum or mean of the rows `order[starts[b]:starts[b + 1]]`, each times its factor."""
    taken = rows.take(order, axis=0)
    if factor is not None:
        taken *= factor[:, None]
    made, lengths = np.zeros((starts.shape[0] - 1, *rows.shape[1:]), rows.dtype), np.diff(starts)
    some = np.flatnonzero(lengths)
    if some.size:
        made[some] = _sums_of_runs(taken, np.arange(order.shape[0]), starts[some])
    if mean:
        made /= np.maximum(lengths, 1).astype(rows.dtype)[:, None]
    return made


def _bags_on_device(rows: Any, order: Any, starts: Any, factor: Any = None, mean: bool = False) -> Any:
    xp, runs = array_module(rows), starts.shape[0] - 1
    made = xp.zeros((runs, *rows.shape[1:]), rows.dtype)
    if not made.size or not rows.size:
        return made
    numbers, out = _as_numbers(rows), _as_numbers(made)
    order, starts = (xp.ascontiguousarray(each, dtype=np.int64) for each in (order, starts))
    by = None if factor is None else xp.ascontiguousarray(factor)
    launch(xp, RUN_SUMS, letters_of(numbers), blocks_for(out.size), 256,
           numbers, order, starts, by, out, runs, numbers.shape[1], mean)  # fmt: skip
    return made


def _scatter_rows(into: Any, keys: Any, rows: Any) -> None:
    """`into[keys] += rows`, adding up where a key repeats. `into` is contiguous; keys count its rows."""
    order, starts = sorted_runs(keys)
    into[keys[order[starts]]] += _sums_of_runs(rows, order, starts)


def _scatter_on_device(into: Any, keys: Any, rows: Any) -> None:
    if not rows.size:
        return
    xp = array_module(into)
    order = xp.argsort(keys, kind="stable")
    ordered = xp.ascontiguousarray(keys.take(order), dtype=np.int64)
    numbers, table = _as_numbers(rows), _as_numbers(into)
    launch(xp, SCATTER_ROWS, letters_of(table), blocks_for(numbers.size), 256,
           table, ordered, order, numbers, keys.shape[0], numbers.shape[1])  # fmt: skip


def _largest_of_bags(rows: Any, starts: Any) -> Any:
    """For each bag and column, which of the rows `starts[b]:starts[b + 1]` has the largest element; -1 for empty bags."""
    made = np.full((starts.shape[0] - 1, rows.shape[1]), -1, np.int64)
    for bag in np.flatnonzero(np.diff(starts)):
        made[bag] = rows[starts[bag] : starts[bag + 1]].argmax(axis=0) + starts[bag]
    return made


def _largest_on_device(rows: Any, starts: Any) -> Any:
    xp = array_module(rows)
    made = xp.empty((starts.shape[0] - 1, rows.shape[1]), np.int64)
    starts = xp.ascontiguousarray(starts, dtype=np.int64)
    launch(xp, RUN_ARGMAX, letters_of(rows), blocks_for(made.size), 256,
           xp.ascontiguousarray(rows), starts, made, *made.shape)  # fmt: skip
    return made


_SUMMED = FLOATS + INTEGERS + COMPLEX
sums_of_runs = either(_sums_of_runs, _sums_on_device, _SUMMED)
bags = either(_bags, _bags_on_device, _SUMMED)
scatter_rows = either(_scatter_rows, _scatter_on_device, _SUMMED)
largest_of_bags = either(_largest_of_bags, _largest_on_device)
