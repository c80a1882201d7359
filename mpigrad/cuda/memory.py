"""Memory of GPUs: bytes that arrays use, bytes that CuPy's memory pool has reserved, and freeing its cache.

Functions without another statement are for the GPU `device`, by default the current one, and this process.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any

from .._array import device as seam
from .._array.device_pool import OutOfMemoryError, Peak, peak_of
from ._devices import Which, index_of


def _pool(device: Which) -> tuple[Any, Any] | None:
    """CuPy's pool and a guard for the device; None if nothing has been allocated."""
    if not seam.is_loaded():
        return None
    return seam.cupy().get_default_memory_pool(), seam.on_device(seam.device("cuda", index_of(device)))


def memory_allocated(device: Which = None) -> int:
    """The number of bytes that arrays of this process use on a GPU.

    `device`: the GPU, by default the current one.
    """
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].used_bytes()


def memory_reserved(device: Which = None) -> int:
    """The number of bytes that the memory pool has reserved on a GPU: those of arrays and those cached for new ones."""
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].total_bytes()


def max_memory_allocated(device: Which = None) -> int:
    """The largest `memory_allocated` so far, or since `reset_peak_memory_stats`.

    `device`: the GPU, by default the current one.
    """
    return _peak(device).allocated if seam.is_loaded() else 0


def max_memory_reserved(device: Which = None) -> int:
    """The largest `memory_reserved` so far, or since `reset_peak_memory_stats`.

    `device`: the GPU, by default the current one.
    """
    return _peak(device).reserved if seam.is_loaded() else 0


def _peak(device: Which) -> Peak:
    return peak_of(index_of(device))


def reset_peak_memory_stats(device: Which = None) -> None:
    """Start again with the measurement of `max_memory_allocated` and `max_memory_reserved`.

    `device`: the GPU, by default the current one.
    """
    place = index_of(device)
    peak = peak_of(place)
    peak.allocated, peak.reserved = memory_allocated(place), memory_reserved(place)


def reset_max_memory_allocated(device: Which = None) -> None:
    """Deprecated name of `reset_peak_memory_stats`."""
    _resets_all("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Which = None) -> None:
    """Deprecated name of `reset_peak_memory_stats`."""
    _resets_all("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def memory_cached(device: Which = None) -> int:
    """Deprecated name of `memory_reserved`."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Which = None) -> int:
    """Deprecated name of `max_memory_reserved`."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _resets_all(name: str) -> None:
    text = "now calls mpigrad.cuda.reset_peak_memory_stats, which resets /all/ peak memory stats."
    warnings.warn(f"mpigrad.cuda.{name} {text}", FutureWarning, stacklevel=3)


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"`mpigrad.cuda.{old}` has been renamed to `mpigrad.cuda.{new}`", FutureWarning, stacklevel=3)


def empty_cache() -> None:
    """Return memory that the pools keep for new arrays to the system, including pinned host memory."""
    if not seam.is_loaded():
        return
    for index in range(seam.device_count()):
        with seam.on_device(seam.device("cuda", index)):
            seam.cupy().get_default_memory_pool().free_all_blocks()
    seam.cupy().get_default_pinned_memory_pool().free_all_blocks()


def memory_stats(device: Which = None) -> dict[str, Any]:
    """Counters of a GPU's memory, by the names of PyTorch's allocator, such as "allocated_bytes.all.peak": a
    dictionary.

    `device`: the GPU, by default the current one.
    """
    made: dict[str, Any] = OrderedDict()
    if seam.is_loaded():
        for title, now, peak in (
            ("allocated_bytes.all", memory_allocated(device), max_memory_allocated(device)),
            ("reserved_bytes.all", memory_reserved(device), max_memory_reserved(device)),
        ):
            made[f"{title}.current"], made[f"{title}.peak"] = now, peak
    return made


def memory_stats_as_nested_dict(device: Which = None) -> dict[str, Any]:
    """`memory_stats` as nested dictionaries: "allocated_bytes.all.current" becomes three levels."""
    made: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = made
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return made


def memory_summary(device: Which = None, abbreviated: bool = False) -> str:
    """The statistics of a GPU's memory as text, a small table. `abbreviated` has no effect.

    `device`: the GPU, by default the current one.
    """
    rows = [
        f"GPU {index_of(device)}          now MiB   peak MiB",
        f"allocated  {memory_allocated(device) / 2**20:10.1f} {max_memory_allocated(device) / 2**20:10.1f}",
        f"reserved   {memory_reserved(device) / 2**20:10.1f} {max_memory_reserved(device) / 2**20:10.1f}",
    ]
    return "\n".join(rows)


def mem_get_info(device: Which = None) -> tuple[int, int]:
    """The free and the total memory of a GPU, in bytes, as reported by the driver.

    `device`: the GPU, by default the current one.
    """
    with seam.on_device(seam.device("cuda", index_of(device))):
        return seam.cupy().cuda.runtime.memGetInfo()


def set_per_process_memory_fraction(fraction: float, device: Which = None) -> None:
    """Limit this process to a fraction (0 to 1) of a GPU's memory; arrays beyond it raise an OutOfMemoryError.

    `device`: the GPU, by default the current one.
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with seam.on_device(seam.device("cuda", index_of(device))):
        total = seam.cupy().cuda.runtime.memGetInfo()[1]
        seam.cupy().get_default_memory_pool().set_limit(size=max(1, int(fraction * total)))  # 0 would mean no limit


def get_per_process_memory_fraction(device: Which = None) -> float:
    """The fraction of a GPU's memory that this process may use: 1.0 unless limited.

    `device`: the GPU, by default the current one.
    """
    with seam.on_device(seam.device("cuda", index_of(device))):
        limit, total = seam.cupy().get_default_memory_pool().get_limit(), seam.cupy().cuda.runtime.memGetInfo()[1]
    return limit / total if limit else 1.0


def device_memory_used(device: Which = None) -> int:
    """The number of bytes of a GPU that all processes together use.

    `device`: the GPU, by default the current one.
    """
    free, total = mem_get_info(device)
    return total - free


__all__ = [
    "OutOfMemoryError", "device_memory_used", "empty_cache", "get_per_process_memory_fraction", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip
