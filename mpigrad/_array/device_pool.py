"""CuPy's memory pool: counts peaks, raises PyTorch's OutOfMemoryError, and orders reuse between streams.

When an array is freed, CuPy's pool gives its memory to the next array of the same stream at once. That is correct as long as no
other stream uses the array. But in a worker each request runs on separate streams, and the backward pass reads and frees arrays
that requests have created. With `order_memory`, an array that is freed while another stream is current makes its own stream
wait for that one, so that the memory is reused only after its last use.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class Peak:
    """The peaks of allocated and reserved bytes on one GPU."""

    __slots__ = ("allocated", "reserved")

    def __init__(self) -> None:
        self.allocated = self.reserved = 0


_peaks: dict[int, Peak] = {}


def peak_of(index: int) -> Peak:
    """The peaks of the GPU with this index."""
    return _peaks.get(index) or _peaks.setdefault(index, Peak())


class OutOfMemoryError(RuntimeError, MemoryError):
    """Raised when the memory of a GPU is exhausted."""

    __module__ = "mpigrad"


def count_peaks(module: ModuleType) -> None:
    """Make CuPy's pool record its peaks, unless the program has set another allocator."""
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
        if _Order.wanted and size:
            made = _lent(module, made, size)
        peak = peak_of(made.device_id)
        peak.allocated = max(peak.allocated, pool.used_bytes())
        peak.reserved = max(peak.reserved, pool.total_bytes())
        return made

    module.cuda.set_allocator(malloc)


class _Order:
    wanted = False


def order_memory() -> None:
    """From now on, let memory that is freed while another stream is current wait for that stream before it is used
    again.
    """
    _Order.wanted = True


class _Loan:
    """A block of the pool and the stream to which it returns when it is freed."""

    __slots__ = ("cuda", "memory", "stream")

    def __init__(self, cuda: Any, memory: Any, stream: Any) -> None:
        self.cuda, self.memory, self.stream = cuda, memory, stream

    def __del__(self) -> None:
        if sys.is_finalizing():  # CuPy's functions may be destroyed already
            return
        index = self.memory.device_id
        user = self.cuda.get_current_stream(index)
        if user.ptr != self.stream.ptr:
            with self.cuda.Device(index):
                self._wait_for(user)

    def _wait_for(self, user: Any) -> None:
        try:
            self.stream.wait_event(user.record())
        except self.cuda.runtime.CUDARuntimeError:  # the stream was destroyed first; its handle may be reused
            user.synchronize()


def _lent(module: ModuleType, memory: Any, size: int) -> Any:
    cuda = module.cuda
    owner = _Loan(cuda, memory, cuda.get_current_stream(memory.device_id))
    return cuda.MemoryPointer(cuda.UnownedMemory(memory.ptr, size, owner, memory.device_id), 0)
