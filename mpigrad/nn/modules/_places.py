"""Checks of indices and pairs that users give to containers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def place_of(index: Any, length: int) -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def pairs_of(given: Any, kind: str) -> list[tuple[str, Any]]:
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{kind}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if hasattr(given, "items"):
        return list(given.items())
    pairs = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{kind} update sequence element #{i} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs
