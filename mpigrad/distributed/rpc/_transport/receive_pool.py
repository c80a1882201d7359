"""A pool of receive buffers: blocks for large arrays, which are reused when no array refers to them.

New memory costs a page fault for every 4 KiB, which takes longer than the transfer itself. A block is the `base` of the arrays
in it, so it returns to the pool exactly when the last of them is freed, on any thread. At most `LIMIT` bytes are kept, and
nothing after some time without traffic (`trim`).

Blocks are in huge pages where Linux has them. Within a host MPI lets the kernel copy between processes page by page: a round trip
of 1 MiB takes 70 % of the time with huge pages. NumPy requests huge pages itself from 4 MiB on; smaller blocks are cut from
larger pieces, for which we request them.
"""

from __future__ import annotations

import mmap
from collections import deque
from contextlib import suppress
from typing import Any

import numpy as np

from mpigrad._core.guard import edge, enter, leave_later

LIMIT = 1 << 30  # bytes kept for reuse
_GRAIN = 1 << 16
_HUGE = 2 << 20  # bytes of a huge page
_FEWEST, _MOST = _HUGE // 4, 2 * _HUGE  # sizes of blocks that are cut from larger pieces: from, and below

_free: dict[int, deque[tuple[Any, int]]] = {}  # by size: memory and its address, which is slow to get from NumPy
_cut: dict[int, deque[tuple[Any, int]]] = {}  # the same, for memory that has not been used yet
_kept = [0]


class Block:
    """The memory of one received array; returns it to the pool when it is freed.

    `memory` is the buffer with its address, `size` its length, of which the array uses `nbytes`.
    """

    __slots__ = ("__array_interface__", "memory", "size")
    lends_memory = True  # only arrays refer to this object, so an array with the only reference may be kept as a gradient

    def __init__(self, size: int, memory: tuple[Any, int], nbytes: int) -> None:
        self.size, self.memory = size, memory
        self.__array_interface__ = {"data": (memory[1], False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    @edge
    def __del__(self) -> None:
        before = enter()  # a guarded section: an interrupt here would lose the memory
        if _kept[0] + self.size <= LIMIT:
            _kept[0] += self.size
            _free.setdefault(self.size, deque()).append(self.memory)
        leave_later(before)


def receive_array(nbytes: int) -> Any:
    """Return an uninitialised array of `nbytes` bytes (uint8) to receive into."""
    if nbytes < _GRAIN:
        return np.empty(nbytes, np.uint8)
    size = rounded(nbytes)
    try:
        memory = _free[size].pop()
        _kept[0] -= size
    except (KeyError, IndexError):
        memory = _fresh(size)
    return np.asarray(Block(size, memory, nbytes))


def _fresh(size: int) -> tuple[Any, int]:
    """Return new memory of this size, and its address."""
    if not _FEWEST <= size < _MOST:
        made = np.empty(size, np.uint8)
        return made, made.ctypes.data
    blocks = _cut.setdefault(size, deque())
    while True:
        try:
            return blocks.popleft()
        except IndexError:
            blocks.extend(_piece(size))


def _piece(size: int) -> list[tuple[Any, int]]:
    """Allocate new memory in huge pages and cut it into blocks of `size` bytes; returns each block with its address.

    Two huge pages are cut; if only one block fits into them, just the memory for that block is allocated.
    """
    count = _MOST // size
    length = _MOST if count > 1 else size
    memory = mmap.mmap(-1, _HUGE + length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    whole = np.frombuffer(memory, np.uint8)
    address = whole.ctypes.data
    start = -address % _HUGE
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # the system has no huge pages
            memory.madvise(mmap.MADV_HUGEPAGE, start, length // _HUGE * _HUGE)
    places = [start + nth * size for nth in range(count)]
    return [(whole[place : place + size], address + place) for place in places]


def rounded(nbytes: int) -> int:
    """Return the size of the block for an array: rounded up by at most an eighth, so that similar arrays share blocks."""
    step = max(_GRAIN, 1 << max(0, nbytes.bit_length() - 4))
    return (nbytes + step - 1) // step * step


def trim() -> None:
    """Return all unused memory to the system."""
    _cut.clear()
    for size, blocks in list(_free.items()):
        while True:
            try:
                blocks.pop()
            except IndexError:
                break
            _kept[0] -= size


def kept_bytes() -> int:
    """Return the number of bytes that the pool keeps for reuse."""
    return _kept[0]
