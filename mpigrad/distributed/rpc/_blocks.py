"""Receive memory: blocks for large arrays, handed out again once no array refers to them.

Fresh memory of some MiB costs a page fault for every 4 KiB, more than the transfer itself. A block is the `base` of the
arrays made on it, so it comes back exactly when the last of them is gone, on whatever thread that happens. At most
`LIMIT` bytes are kept, and nothing after a while without traffic (`trim`).
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

LIMIT = 1 << 30  # bytes kept for reuse
_GRAIN = 1 << 16

_free: dict[int, deque[tuple[Any, int]]] = {}  # by size: memory and its address, which numpy is slow to tell
_kept = [0]


class Block:
    """Memory of one received array; gives it back when it dies."""

    __slots__ = ("__array_interface__", "memory", "size")
    lends_memory = True  # only to arrays that hold this object: an array that alone does may be kept as a gradient

    def __init__(self, size: int, memory: tuple[Any, int], nbytes: int) -> None:
        self.size, self.memory = size, memory
        self.__array_interface__ = {"data": (memory[1], False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        if _kept[0] + self.size <= LIMIT:
            _kept[0] += self.size
            _free.setdefault(self.size, deque()).append(self.memory)


def receive_array(nbytes: int) -> Any:
    """An uninitialised array of bytes to receive into."""
    if nbytes < _GRAIN:
        return np.empty(nbytes, np.uint8)
    size = _rounded(nbytes)
    try:
        memory = _free[size].pop()
        _kept[0] -= size
    except (KeyError, IndexError):
        fresh = np.empty(size, np.uint8)
        memory = fresh, fresh.ctypes.data
    return np.asarray(Block(size, memory, nbytes))


def _rounded(nbytes: int) -> int:
    """The size class: an eighth of a power of two, so that at most an eighth is wasted."""
    step = max(_GRAIN, 1 << max(0, nbytes.bit_length() - 4))
    return (nbytes + step - 1) // step * step


def trim() -> None:
    """Give all unused memory back to the system."""
    for size, blocks in list(_free.items()):
        while True:
            try:
                blocks.pop()
            except IndexError:
                break
            _kept[0] -= size


def kept_bytes() -> int:
    """How much memory waits for reuse."""
    return _kept[0]
