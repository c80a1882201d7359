"""Sizes that are given as one number for all dimensions, or as one number for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def tuple_of(value: Any, count: int) -> tuple[Any, ...]:
    """`value` as a tuple of `count` numbers; a single number is repeated for all dimensions."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
