"""Sums of rows by key: bags of rows, rows with equal keys, rows scattered into a table.

The GPU kernels use no atomic additions, so every sum has a fixed order and the results are deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import loops
from .kernel import COMPLEX, FLOATS, INTEGERS, Kernel, blocks_for, either, launch, letters_of

_PACKED_BITS = 62  # key and position in one non-negative 64-bit integer
_SIDE_BY_SIDE = 32  # bags of up to this many rows are added in parallel
_NUMBERS = {"T": FLOATS + INTEGERS + "?"}

BAG_SUMS = Kernel(
    "bag_sums",
    "const T* rows, const i64* places, const i64* starts, const i64* lengths, T* made, i64 bags, i64 width",
    """
  EACH(i, bags * width) {
    i64 bag = i / width, column = i % width, end = starts[bag] + lengths[bag];
    A sum = 0;
    for (i64 k = starts[bag]; k < end; k++) sum += (A)rows[places[k] * width + column];
    made[i] = (T)sum;
  }""",
    _NUMBERS,
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
    _NUMBERS,
)
BAG_ARGMAX = Kernel(
    "bag_argmax",
    "const T* rows, const i64* starts, i64* made, i64 bags, i64 width",
    """
  EACH(i, bags * width) {
    i64 bag = i / width, column = i % width, best = starts[bag];
    for (i64 k = best + 1; k < starts[bag + 1]; k++) {
      A held = rows[best * width + column], each = rows[k * width + column];
      if (each > held || (each != each && held == held)) best = k;
    }
    made[i] = starts[bag + 1] > starts[bag] ? best : -1;
  }""",
)


def ordered(keys: Any, bound: int) -> tuple[Any, Any]:
    """The stable order that sorts integers from 0 to `bound` - 1, and the sorted integers.

    Sorting numbers that combine key and position is five times as fast as a stable argsort, since NumPy vectorises it."""
    count = keys.shape[0]
    bits = count.bit_length()
    if bound.bit_length() + bits > _PACKED_BITS or count < 64:
        order = np.argsort(keys, kind="stable")
        return order, keys.take(order)
    packed = keys.astype(np.int64) << bits
    packed |= np.arange(count)
    packed.sort()
    order = packed & ((1 << bits) - 1)
    packed >>= bits
    return order, packed


def _sorted_runs(keys: Any, bound: int) -> tuple[Any, Any]:
    """The stable order that sorts the keys, and the start of each run of equal keys in it."""
    order, found = ordered(keys, bound)
    new = np.empty(found.shape[0], bool)
    new[:1] = True
    np.not_equal(found[1:], found[:-1], out=new[1:])
    return order, np.flatnonzero(new)


def _sums_of_runs(rows: Any, order: Any, starts: Any) -> Any:
    """For each run (rows with equal keys, as `_sorted_runs` gives them) the sum of its rows, as a new array."""
    lengths = np.diff(starts, append=order.shape[0])
    return _sums_of_bags(rows, order, starts, lengths)


def _sums_of_bags(rows: Any, places: Any, starts: Any, lengths: Any) -> Any:
    """For each bag the sum of the rows `places[start : start + length]`, as a new array; zeros for empty bags.

    Without a compiled loop, NumPy's `reduceat` would take a microsecond per bag, however short. So short bags are added in
    parallel: the first rows of all bags, then the second rows of those that have one, and so on, with the bags sorted by length.
    This also avoids an array of all rows."""
    made = np.empty((lengths.shape[0], *rows.shape[1:]), rows.dtype)
    if loops.sum_bags(rows, places, starts, lengths, made):
        return made
    longest = int(lengths.max()) if lengths.shape[0] else 0
    if longest <= _SIDE_BY_SIDE:
        return _side_by_side(rows, places, starts, lengths, longest)
    long = np.flatnonzero(lengths > _SIDE_BY_SIDE)
    short = lengths.copy()
    short[long] = 0
    made = _side_by_side(rows, places, starts, short, int(short.max()))
    for bag in long.tolist():
        made[bag] = take_rows(rows, places[starts[bag] : starts[bag] + lengths[bag]]).sum(axis=0, dtype=rows.dtype)
    return made


def _side_by_side(rows: Any, places: Any, starts: Any, lengths: Any, longest: int) -> Any:
    count = lengths.shape[0]
    if longest == 0 or int(lengths.min()) == longest:
        return _layers(rows, places, starts, [count] * longest)
    several = np.flatnonzero(lengths != 1)
    if several.shape[0] * 4 < count:  # most bags have a single row
        made = take_rows(rows, places[np.minimum(starts, places.shape[0] - 1)])
        made[several] = _side_by_side(rows, places, starts[several], lengths[several], longest)
        return made
    # longest first: the bags that have an n-th row are then the first ones, a slice
    falling = np.argsort(-lengths, kind="stable")
    having = count - np.searchsorted(lengths[falling][::-1], np.arange(longest), side="right")
    found = _layers(rows, places, starts[falling], having.tolist())
    made = np.zeros((count, *rows.shape[1:]), rows.dtype)
    made[falling[: found.shape[0]]] = found
    return made


def _layers(rows: Any, places: Any, starts: Any, having: list[int]) -> Any:
    """The sums of bags, whose rows are at `places`; the first `having[n]` bags have more than n rows."""
    if not having:
        return np.zeros((starts.shape[0], *rows.shape[1:]), rows.dtype)
    made = take_rows(rows, places[starts[: having[0]]])
    for nth in range(1, len(having)):
        made[: having[nth]] += take_rows(rows, places[starts[: having[nth]] + nth])
    return made


def take_rows(rows: Any, places: Any) -> Any:
    """The rows with some indices, as a new array; all indices must be valid.

    `take` with `clip` checks no bounds and is twice as fast as indexing, but it would copy a non-contiguous array first."""
    if rows.__class__ is np.ndarray and rows.flags.c_contiguous:
        return rows.take(places, axis=0, mode="clip")
    return rows[places]


def put_rows(into: Any, places: Any, rows: Any) -> None:
    """`into[places] = rows`, where all indices are valid and none repeats.

    Rows are copied as single elements of the same size, which takes 80 % of the time of indexing."""
    if into.__class__ is np.ndarray and into.ndim > 1 and into.size and into.flags.c_contiguous and rows.flags.c_contiguous:
        whole = np.dtype((np.void, into.itemsize * (into.size // into.shape[0])))
        if rows.dtype == into.dtype and rows.shape[1:] == into.shape[1:]:
            into.reshape(-1).view(whole).put(places, rows.reshape(-1).view(whole), mode="clip")
            return
    into[places] = rows


def _rows_added(keys: Any, rows: Any, count: int) -> Any:
    """`count` rows; row i is the sum of the rows with key i."""
    made = np.zeros((count, *rows.shape[1:]), rows.dtype)
    if rows.size:  # np.add.at is slow on rows; sums of sorted runs are faster
        order, starts = _sorted_runs(keys, count)
        made[keys[order[starts]]] = _sums_of_runs(rows, order, starts)
    return made


def _scatter_rows(into: Any, keys: Any, rows: Any) -> None:
    """`into[keys] += rows`, also for repeated keys. `into` is contiguous; keys are row indices."""
    if rows.size:
        order, starts = _sorted_runs(keys, into.shape[0])
        into[keys[order[starts]]] += _sums_of_runs(rows, order, starts)


def _largest_of_bags(rows: Any, starts: Any) -> Any:
    """For each bag and column, which of the rows `starts[b]:starts[b + 1]` has the largest element; -1 for empty bags."""
    made = np.full((starts.shape[0] - 1, rows.shape[1]), -1, np.int64)
    for bag, (start, end) in enumerate(zip(starts[:-1].tolist(), starts[1:].tolist())):
        if end > start:
            made[bag] = rows[start:end].argmax(axis=0) + start
    return made


# -- on a GPU ----------------------------------------------------------------------------------------------------------
def _runs_on_device(keys: Any, bound: int) -> tuple[Any, Any]:
    xp = array_module(keys)
    order = xp.argsort(keys, kind="stable")
    found = keys.take(order)
    new = xp.ones(found.shape[0], bool)
    xp.not_equal(found[1:], found[:-1], out=new[1:])
    return order, xp.flatnonzero(new)


def _as_numbers(rows: Any) -> Any:
    """Rows as a contiguous matrix of real numbers; a complex number becomes two."""
    made = array_module(rows).ascontiguousarray(rows)
    made = made.reshape(rows.shape[0], made.size // max(rows.shape[0], 1))
    return made.view(made.real.dtype) if made.dtype.kind == "c" else made


def _places(*arrays: Any) -> list[Any]:
    return [array_module(each).ascontiguousarray(each, dtype=np.int64) for each in arrays]


def _sums_of_runs_on_device(rows: Any, order: Any, starts: Any) -> Any:
    xp = array_module(rows)
    ends = xp.concatenate([starts, xp.full(1, order.shape[0], starts.dtype)])
    return _bags_on_device(rows, order, starts, xp.diff(ends))


def _bags_on_device(rows: Any, places: Any, starts: Any, lengths: Any) -> Any:
    xp, bags = array_module(rows), lengths.shape[0]
    made = xp.zeros((bags, *rows.shape[1:]), rows.dtype)
    if made.size and rows.size:
        numbers, out = _as_numbers(rows), _as_numbers(made)
        launch(xp, BAG_SUMS, letters_of(numbers), blocks_for(out.size), 256,
               numbers, *_places(places, starts, lengths), out, bags, numbers.shape[1])  # fmt: skip
    return made


def _added_on_device(keys: Any, rows: Any, count: int) -> Any:
    made = array_module(rows).zeros((count, *rows.shape[1:]), rows.dtype)
    scatter_rows(made, keys, rows)
    return made


def _scatter_on_device(into: Any, keys: Any, rows: Any) -> None:
    if rows.size:
        xp = array_module(into)
        order = xp.argsort(keys, kind="stable")
        numbers, table = _as_numbers(rows.astype(into.dtype, copy=False)), _as_numbers(into)
        launch(xp, SCATTER_ROWS, letters_of(table), blocks_for(numbers.size), 256,
               table, *_places(keys.take(order), order), numbers, keys.shape[0], numbers.shape[1])  # fmt: skip


def _largest_on_device(rows: Any, starts: Any) -> Any:
    xp = array_module(rows)
    made = xp.empty((starts.shape[0] - 1, rows.shape[1]), np.int64)
    launch(xp, BAG_ARGMAX, letters_of(rows), blocks_for(made.size), 256,
           xp.ascontiguousarray(rows), *_places(starts), made, *made.shape)  # fmt: skip
    return made


_SUMMED = FLOATS + INTEGERS + COMPLEX + "?"
sorted_runs = either(_sorted_runs, _runs_on_device, INTEGERS)
sums_of_runs = either(_sums_of_runs, _sums_of_runs_on_device, _SUMMED)
sums_of_bags = either(_sums_of_bags, _bags_on_device, _SUMMED)
rows_added = either(_rows_added, _added_on_device, INTEGERS)
scatter_rows = either(_scatter_rows, _scatter_on_device, _SUMMED)
largest_of_bags = either(_largest_of_bags, _largest_on_device)
