"""Sizes given as one number or one per dimension."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def tuple_of(value: Any, count: int) -> tuple[Any, ...]:
    """`value` as a tuple: one number stands for all dimensions."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
