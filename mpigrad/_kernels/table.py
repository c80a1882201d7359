"""`tables`: passes the addresses of many tensors to one launch in the kernel's parameters, without a copy to the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._array.device import pointer

TENSORS, ROLES, PIECE = 64, 5, 8192  # as in prelude.h
TABLE = np.dtype([("count", "i8"), ("at", "u8", (ROLES, TENSORS)), ("size", "i8", TENSORS), ("first", "i8", TENSORS + 1)])


def tables(many: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, int]]:
    """(table, blocks) for each launch that is needed for all of `many`; each entry is a few arrays of one size (its roles)."""
    some = [each for each in many if each[0].size]
    for begin in range(0, len(some), TENSORS):
        yield _table(some[begin : begin + TENSORS])


def _table(some: Sequence[Sequence[Any]]) -> tuple[Any, int]:
    made = np.zeros((), TABLE)
    blocks = 0
    at, size, first = made["at"], made["size"], made["first"]
    for place, arrays in enumerate(some):
        for role, array in enumerate(arrays):
            at[role, place] = pointer(array)
        size[place], first[place] = arrays[0].size, blocks
        blocks += -(-arrays[0].size // PIECE)
    made["count"] = len(some)
    first[len(some)] = blocks
    return made, blocks


def alike(arrays: Sequence[Any]) -> bool:
    """Whether a launch can iterate over these arrays in parallel: the same type, size and contiguous order."""
    first = arrays[0]
    return all(each.dtype == first.dtype and each.shape == first.shape for each in arrays) and (
        all(each.flags.c_contiguous for each in arrays) or all(each.flags.f_contiguous for each in arrays)
    )
