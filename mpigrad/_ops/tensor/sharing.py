"""`share_memory_`: moves tensors to memory that other processes of this host can map.

A tensor and its views continue to share memory: all tensors of this process in the same memory block are moved together. They
are found through Python's garbage collector.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import Any

import numpy as np

from mpigrad._array.shared import SharedBlock, block_behind, new_block
from mpigrad._tensor import Tensor, method

from .pickling import array_in, memory_of


def _is_host(tensor: Any) -> bool:
    return isinstance(tensor._array, np.ndarray)


def block_of(tensor: Tensor) -> SharedBlock | None:
    """The block of shared memory in which a tensor is; None if it is not in shared memory."""
    return block_behind(memory_of(tensor._array)[0]) if _is_host(tensor) else None


def _key(memory: np.ndarray) -> int:
    """The identity of a memory block: several arrays may span one shared block."""
    block = block_behind(memory)
    return id(memory) if block is None else id(block)


def move_memory(new: dict[int, np.ndarray]) -> None:
    """Move all tensors of some memory blocks (by id) to others, at the same offsets."""
    # views of NumPy know their base, but a base does not know its views: only the collector finds all tensors
    for tensor in gc.get_objects():
        if isinstance(tensor, Tensor) and isinstance(getattr(tensor, "_array", None), np.ndarray):
            array = tensor._array
            memory, offset = memory_of(array)
            if _key(memory) in new:
                tensor._array = array_in(new[_key(memory)], offset, array.shape, array.strides, array.dtype.str)


def share(tensors: Iterable[Tensor]) -> None:
    """Move CPU tensors, with all their views, to memory that other processes can map."""
    new: dict[int, np.ndarray] = {}
    kept = []  # keeps the blocks alive, so that their ids stay unique
    for tensor in tensors:
        if tensor.is_sparse:
            raise NotImplementedError("Cannot access storage of SparseTensorImpl")
        if not _is_host(tensor) or block_of(tensor) is not None:
            continue
        memory, _ = memory_of(tensor._array)
        if id(memory) not in new:
            if not memory.flags.forc:
                raise RuntimeError("share_memory_() needs a tensor whose elements fill its memory; call contiguous() first")
            shared = new_block(memory.nbytes).memory()
            shared[:] = memory.ravel(order="K").view(np.uint8)
            new[id(memory)] = shared
            kept.append(memory)
    if new:
        move_memory(new)


@method
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory of this tensor and its views to shared memory.

    Processes that receive the tensor by `mpigrad.multiprocessing` then see each other's changes. No effect on a GPU.

    >>> import mpigrad
    >>> x = mpigrad.zeros(2)
    >>> x.is_shared(), x.share_memory_().is_shared()
    (False, True)
    """
    share([self])
    return self


@method
def is_shared(self: Tensor) -> bool:
    """Whether other processes may see this memory: on a GPU, or after `share_memory_`."""
    return self.is_cuda or block_of(self) is not None


__all__: list[str] = []
