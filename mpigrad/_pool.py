"""The memory of GPUs as CuPy's pool hands it out: peaks are counted, and what it says when there is none left."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class Peak:
    """The most bytes that arrays held, and that the pool had taken, on one GPU."""

    __slots__ = ("allocated", "reserved")

    def __init__(self) -> None:
        self.allocated = self.reserved = 0


_peaks: dict[int, Peak] = {}


def peak_of(index: int) -> Peak:
    """The peaks of a GPU's memory, by its index."""
    return _peaks.get(index) or _peaks.setdefault(index, Peak())


class OutOfMemoryError(RuntimeError, MemoryError):
    """A GPU has no memory left."""

    __module__ = "mpigrad"


def count_peaks(module: ModuleType) -> None:
    """Let CuPy's pool count its peaks, unless the program has chosen another allocator."""
    pool = module.get_default_memory_pool()
    if module.cuda.get_allocator() != pool.malloc:
        return

    def malloc(size: int) -> Any:
        try:
            made = pool.malloc(size)
        except module.cuda.memory.OutOfMemoryError as error:
            raise OutOfMemoryError(
                f"CUDA out of memory. Tried to allocate {size / 2**20:.2f} MiB on GPU {module.cuda.runtime.getDevice()}: {error}"
            ) from error
        peak = peak_of(made.device_id)
        peak.allocated = max(peak.allocated, pool.used_bytes())
        peak.reserved = max(peak.reserved, pool.total_bytes())
        return made

    module.cuda.set_allocator(malloc)
