"""Lent memory: the sender of a large array copies it into shared memory, which the receiver on its host then uses as the array.

So an array is copied once, by one process, without a system call, and its receiver need not wait. This is faster than
copying between processes if no core is idle.

The memory of a process, the *lender*, is a memfd, which a *borrower* opens through `/proc/PID/fd` (as in `slots.py`, and with
the same checks). It begins with a table of words, one for each block: 0 says that the block is not in use. The lender sets the
word when it has filled the block, the borrower clears it when the last array in the block has been freed. Nothing else is
shared: a block has one borrower, which may write to it.

Invariants
- The file never shrinks, and no part of it is used for two blocks.
- A lender lends only to ranks that have accepted an offer: these can open its files.
- At most LIMIT bytes are lent or kept for reuse; above it, arrays are sent by MPI.
- A block whose borrower was lost is used again only if its process has ended.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np

from mpigrad._core.guard import edge, enter, leave_later
from mpigrad._core.rpc.cross_memory import TOKEN, Array, is_lent, set_lent

from ..receive_pool import rounded
from .slots import Identity, OwnSlots

LIMIT = 1 << 30  # bytes of a lender
_HEAD = 1 << 16  # bytes before the first block: the token, then the table
_WORDS = range(TOKEN // 8, _HEAD // 8)
_LOOKS = 8  # lent blocks that one search looks at
_MAPPED = 1024  # blocks that a borrower keeps mapped


class Block:
    """A block of this process's memory: its word in the table, its place in the file, who has it."""

    __slots__ = ("_lender", "index", "memory", "offset", "size", "to")

    def __init__(self, lender: Lender, index: int, offset: int, size: int, memory: mmap.mmap) -> None:
        self._lender, self.index, self.offset, self.size, self.memory = lender, index, offset, size, memory
        self.to: Any = None

    def withdraw(self) -> None:
        """Take the block back, which no process has seen."""
        set_lent(self._lender.table, self.index, False)


class Lender:
    """The memory that this process lends. The file is never closed: other processes may open it at any time."""

    def __init__(self, own: OwnSlots) -> None:
        self._handle = os.memfd_create("mpigrad-lent", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._handle, _HEAD)
        # if the file shrank, a process that has mapped it would be killed (SIGBUS)
        fcntl.fcntl(self._handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        head = mmap.mmap(self._handle, _HEAD)
        head[:TOKEN] = own.identity.token
        self.table = Array(head, True)
        self._indices = deque(_WORDS)  # words without a block
        self._end = _HEAD  # of the file
        self._bytes = 0  # in all blocks
        self._free: dict[int, list[Block]] = {}  # by size
        self._lent: dict[int, deque[Block]] = {}
        self._lock = threading.Lock()  # senders have the transport's lock, `trim` has not
        own.publish(self._handle)

    def lend(self, array: Any, to: Any) -> Block | None:
        """Copy a contiguous array into a block and lend it to `to`; None if too much is lent already."""
        size = rounded(array.nbytes)
        with self._lock:
            block = self._take(size)
        if block is not None:
            np.copyto(np.frombuffer(block.memory, np.uint8, array.nbytes), array.reshape(-1).view(np.uint8))
            block.to = to
            set_lent(self.table, block.index, True)
            self._lent[size].append(block)
        return block

    def _take(self, size: int) -> Block | None:
        free, lent = self._free.setdefault(size, []), self._lent.setdefault(size, deque())
        self._collect(free, lent, _LOOKS)
        if not free:
            self._collect(free, lent, len(lent))
        if free:
            return free.pop()
        if self._bytes + size > LIMIT or not self._indices:
            self._drop_free()
            if self._bytes + size > LIMIT or not self._indices:
                return None
        os.ftruncate(self._handle, self._end + size)
        memory = mmap.mmap(self._handle, size, offset=self._end)
        made = Block(self, self._indices.popleft(), self._end, size, memory)
        self._end += size
        self._bytes += size
        return made

    def _collect(self, free: list[Block], lent: deque[Block], most: int) -> None:
        """Look at the words of up to `most` lent blocks of a size, and free those that were returned."""
        for _ in range(min(most, len(lent))):
            block = lent.popleft()
            if is_lent(self.table, block.index):
                lent.append(block)
            else:
                free.append(block)

    def _drop_free(self) -> None:
        """Return the memory of all blocks that are not in use to the system."""
        for size, free in self._free.items():
            self._collect(free, self._lent[size], len(self._lent[size]))
            for block in free:
                block.memory.madvise(mmap.MADV_REMOVE)
                self._indices.append(block.index)
                self._bytes -= size
            free.clear()

    def trim(self) -> None:
        """Return the memory of all blocks that are not in use to the system."""
        with self._lock:
            self._drop_free()

    def reclaim(self, to: Any) -> None:
        """Take back what was lent to `to`, whose process has ended."""
        for lent in self._lent.values():
            for block in list(lent):
                if block.to == to:
                    block.withdraw()

    def kept(self) -> int:
        """Return the number of bytes in all blocks, lent or kept for reuse."""
        return self._bytes


class Loan:
    """A block that this process has borrowed; returns it when it is freed.

    `memory` is the mapped block at the address `address`, of which the array uses `nbytes`.
    """

    __slots__ = ("__array_interface__", "_index", "_memory", "_pid", "_table")
    lends_memory = True  # only arrays refer to this object, so an array with the only reference may be kept as a gradient

    def __init__(self, table: Array, index: int, memory: Any, address: int, nbytes: int) -> None:
        self._table, self._index, self._memory, self._pid = table, index, memory, os.getpid()
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    @edge
    def __del__(self) -> None:
        before = enter()  # a guarded section: an interrupt here would lose the memory
        if self._pid == os.getpid():  # a forked child has not borrowed anything
            set_lent(self._table, self._index, False)
        leave_later(before)


class Borrowed:
    """The memory of one lender, as far as this process has mapped it. OSError if it cannot be opened."""

    def __init__(self, them: Identity, handle: int) -> None:
        # as in `map_slots`: if the pid was reused, the file may be anything
        self._handle = -1
        self._handle = os.open(f"/proc/{them.pid}/fd/{handle}", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        if not fcntl.fcntl(self._handle, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK or os.fstat(self._handle).st_size < _HEAD:
            raise OSError(errno.EBADF, "another file")
        head = mmap.mmap(self._handle, _HEAD)
        if head[:TOKEN] != them.token:
            raise OSError(errno.ESRCH, "another process")
        self._table = Array(head, True)
        self._mapped: dict[int, tuple[Any, int, int]] = {}  # by offset: memory, its address and size
        _all.add(self)

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def borrow(self, index: int, offset: int, nbytes: int) -> Any:
        """Return the array of `nbytes` bytes (uint8) that was lent; ValueError if there is none."""
        size = rounded(nbytes)
        if index not in _WORDS or not is_lent(self._table, index):
            raise ValueError(f"malformed message: no block {index} has been lent")
        mapped = self._mapped.get(offset)
        if mapped is None:
            if offset < _HEAD or offset % mmap.ALLOCATIONGRANULARITY or os.fstat(self._handle).st_size < offset + size:
                raise ValueError(f"malformed message: no block of {size} bytes is at {offset}")
            memory = np.frombuffer(mmap.mmap(self._handle, size, mmap.MAP_SHARED | _POPULATE, offset=offset), np.uint8)
            if len(self._mapped) >= _MAPPED:
                self._mapped.clear()
            mapped = self._mapped[offset] = memory, memory.ctypes.data, size
        memory, address, known = mapped
        if known < nbytes:
            raise ValueError(f"malformed message: the block at {offset} has {known} bytes, not {nbytes}")
        return np.asarray(Loan(self._table, index, memory, address, nbytes))

    def mapped(self) -> int:
        """Return the number of bytes of the blocks that are kept mapped."""
        return sum(size for _, _, size in self._mapped.values())

    def trim(self) -> None:
        """Forget the mapped blocks; those in use stay mapped."""
        self._mapped.clear()


_POPULATE: int = getattr(mmap, "MAP_POPULATE", 0)  # one call instead of a page fault for each page
_all: weakref.WeakSet[Borrowed] = weakref.WeakSet()
_own: list[Lender | None] = []


def lender(own: OwnSlots) -> Lender | None:
    """Return the lender of this process; None if the system does not support it."""
    if not _own:
        try:
            _own.append(Lender(own))
        except (OSError, AttributeError):
            _own.append(None)
    return _own[0]


def kept_bytes() -> int:
    """Return the number of bytes that this process has lent or keeps for it, and of those that it keeps mapped."""
    mine = _own[0].kept() if _own and _own[0] is not None else 0
    return mine + sum(each.mapped() for each in _all)


def trim() -> None:
    """Return all unused memory to the system."""
    for each in list(_all):
        each.trim()
    if _own and _own[0] is not None:
        _own[0].trim()
