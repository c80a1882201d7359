"""Loops over rows of tables; the C implementation is in `loops.pyx`.

This is a stub: all functions return False, and the callers use NumPy instead.
"""

from __future__ import annotations

from typing import Any


def add_scaled(table: Any, places: Any, values: Any, factor: float) -> bool:
    """`table[places[i]] += values[i] * factor`, one row after the other."""
    return False


def sum_bags(table: Any, places: Any, starts: Any, lengths: Any, made: Any) -> bool:
    """`made[b]` = the sum of the rows `places[starts[b] : starts[b] + lengths[b]]` of the table, one after the other."""
    return False
