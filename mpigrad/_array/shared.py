"""Memory that several processes of one host share: a memfd that each of them maps.

A process opens the file through `/proc/PID/fd` of a process that has it, so nothing is left behind when the last of them ends.
Every process keeps the file open as long as it uses the memory, and can pass it on to others.
"""

from __future__ import annotations

import functools
import mmap
import os
import weakref
from typing import Any, NamedTuple

import numpy as np


class Reference(NamedTuple):
    """How another process of the host finds a block: a process that has it open, the file descriptor there, the size
    in bytes.
    """

    host: bytes  # the boot id
    pid: int
    handle: int
    file: tuple[int, int]  # device and inode, to recognise the file
    nbytes: int


class SharedBlock(mmap.mmap):
    """A block that this process has mapped. It stays mapped while it or an array that `memory` returned is referenced."""

    handle: int

    def __new__(cls, handle: int, nbytes: int) -> SharedBlock:
        # an empty file cannot be mapped
        made = super().__new__(cls, handle, max(nbytes, 1))
        made.handle, made.size_of_data = handle, nbytes
        # not at exit: arrays may still use the memory then, and the kernel closes files anyway
        weakref.finalize(made, os.close, handle).atexit = False
        _known[_file_of(handle)] = made
        return made

    size_of_data: int

    def memory(self) -> np.ndarray:
        """The bytes of the block as a NumPy array."""
        return np.ndarray((self.size_of_data,), np.uint8, buffer=self)

    def reference(self) -> Reference:
        """The reference with which another process of this host can map the block, while this one has it."""
        return Reference(_host(), os.getpid(), self.handle, _file_of(self.handle), self.size_of_data)


_known: weakref.WeakValueDictionary[tuple[int, int], SharedBlock] = weakref.WeakValueDictionary()


@functools.cache
def _host() -> bytes:
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return file.read().strip()


def _file_of(handle: int) -> tuple[int, int]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino


def new_block(nbytes: int) -> SharedBlock:
    """A new block of shared memory, filled with zeros."""
    handle = os.memfd_create("mpigrad-shared", os.MFD_CLOEXEC)
    os.ftruncate(handle, max(nbytes, 1))
    return SharedBlock(handle, nbytes)


def block_of_handle(handle: int, nbytes: int) -> SharedBlock:
    """The block of an open file (a file descriptor) of `nbytes` bytes; the file is closed if this process has already
    mapped the block.
    """
    known = _known.get(_file_of(handle))
    if known is not None:
        os.close(handle)
        return known
    return SharedBlock(handle, nbytes)


def attach(reference: Reference) -> SharedBlock:
    """Map a block of another process; RuntimeError if that is impossible."""
    if reference.host != _host():
        raise RuntimeError(
            "a tensor in shared memory was made on another host: share_memory_() reaches processes of one host only. Start all "
            "ranks there, or send the tensor by RPC or a collective"
        )
    known = _known.get(reference.file)
    if known is not None:
        return known
    try:
        handle = os.open(f"/proc/{reference.pid}/fd/{reference.handle}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise RuntimeError(
            f"the memory of a shared tensor cannot be opened ({error.strerror}): process {reference.pid} has ended, has freed "
            "it, or runs in another container"
        ) from None
    # the number may have been reused for another file since the reference was made
    if _file_of(handle) != reference.file:
        os.close(handle)
        raise RuntimeError(f"process {reference.pid} has freed the memory of a shared tensor")
    return SharedBlock(handle, reference.nbytes)


def block_behind(memory: Any) -> SharedBlock | None:
    """The block to which the memory of an array belongs, or None."""
    base = getattr(memory, "base", None)
    return base if isinstance(base, SharedBlock) else None
