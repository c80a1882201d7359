"""Memory of GPUs: how much tensors hold, how much the pool behind them has taken, and giving it back."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .. import _device as seam
from .._pool import OutOfMemoryError, Peak, peak_of
from ._devices import Which, index_of


def _pool(device: Which) -> tuple[Any, Any] | None:
    """CuPy's pool and a guard for the device; None where nothing was ever allocated."""
    if not seam.is_loaded():
        return None
    return seam.cupy().get_default_memory_pool(), seam.on_device(seam.device("cuda", index_of(device)))


def memory_allocated(device: Which = None) -> int:
    """Bytes that arrays on a GPU hold now."""
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].used_bytes()


def memory_reserved(device: Which = None) -> int:
    """Bytes that the pool has taken from a GPU: those of arrays and those that are free to be used again."""
    found = _pool(device)
    if found is None:
        return 0
    with found[1]:
        return found[0].total_bytes()


def max_memory_allocated(device: Which = None) -> int:
    """The most bytes that arrays on a GPU held at one time, since the start or `reset_peak_memory_stats`."""
    return _peak(device).allocated if seam.is_loaded() else 0


def max_memory_reserved(device: Which = None) -> int:
    """The most bytes that the pool had taken from a GPU, since the start or `reset_peak_memory_stats`."""
    return _peak(device).reserved if seam.is_loaded() else 0


def _peak(device: Which) -> Peak:
    return peak_of(index_of(device))


def reset_peak_memory_stats(device: Which = None) -> None:
    """Count the peaks from the present use on."""
    place = index_of(device)
    peak = peak_of(place)
    peak.allocated, peak.reserved = memory_allocated(place), memory_reserved(place)


def reset_max_memory_allocated(device: Which = None) -> None:
    """As `reset_peak_memory_stats`, which has replaced it."""
    reset_peak_memory_stats(device)


def empty_cache() -> None:
    """Give the pools' free memory, of the host's pinned memory too, back to the system."""
    if not seam.is_loaded():
        return
    for index in range(seam.device_count()):
        with seam.on_device(seam.device("cuda", index)):
            seam.cupy().get_default_memory_pool().free_all_blocks()
    seam.cupy().get_default_pinned_memory_pool().free_all_blocks()


def memory_stats(device: Which = None) -> dict[str, Any]:
    """The counts above under the names of PyTorch's allocator."""
    made: dict[str, Any] = OrderedDict()
    if seam.is_loaded():
        for title, now, peak in (
            ("allocated_bytes.all", memory_allocated(device), max_memory_allocated(device)),
            ("reserved_bytes.all", memory_reserved(device), max_memory_reserved(device)),
        ):
            made[f"{title}.current"], made[f"{title}.peak"] = now, peak
    return made


def memory_summary(device: Which = None, abbreviated: bool = False) -> str:
    """The counts above as a small table."""
    rows = [
        f"GPU {index_of(device)}          now MiB   peak MiB",
        f"allocated  {memory_allocated(device) / 2**20:10.1f} {max_memory_allocated(device) / 2**20:10.1f}",
        f"reserved   {memory_reserved(device) / 2**20:10.1f} {max_memory_reserved(device) / 2**20:10.1f}",
    ]
    return "\n".join(rows)


def mem_get_info(device: Which = None) -> tuple[int, int]:
    """Free and total bytes of a GPU, as the driver sees them."""
    with seam.on_device(seam.device("cuda", index_of(device))):
        return seam.cupy().cuda.runtime.memGetInfo()


def set_per_process_memory_fraction(fraction: float, device: Which = None) -> None:
    """Let this process take at most this part of a GPU's memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    with seam.on_device(seam.device("cuda", index_of(device))):
        seam.cupy().get_default_memory_pool().set_limit(fraction=fraction)


__all__ = [
    "OutOfMemoryError", "empty_cache", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated",
    "reset_peak_memory_stats", "set_per_process_memory_fraction",
]  # fmt: skip
