"""The accelerator of this machine, with the API of `torch.accelerator`: CUDA or none."""

from __future__ import annotations

from typing import Any

from . import cuda
from ._array.device import device as Device
from ._array.device import device_count as device_count
from ._array.device import is_available as is_available


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device of the accelerator, `device("cuda")`; None if there is no GPU that can be used. `check_available`
    has no effect.

    >>> import mpigrad
    >>> device = mpigrad.accelerator.current_accelerator() or mpigrad.device("cpu")
    """
    return Device("cuda") if is_available() else None


def _available() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def _index(device: Any) -> int | None:
    """The index of a device given as object, string or number; None for the current one."""
    if device is None or isinstance(device, int):
        return device
    found = Device(device) if isinstance(device, str) else device
    if found.type != "cuda":
        raise ValueError(f"{found.type} doesn't match the current accelerator cuda.")
    return found.index


def current_device_index() -> int:
    """The index of the current device."""
    _available()
    return cuda.current_device()


def set_device_index(device: Any, /) -> None:
    """Make the GPU with this index the current one; a negative index or None changes nothing."""
    _available()
    index = _index(device)
    if index is not None and index >= 0:
        cuda.set_device(index)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """A context manager in which the GPU with this index is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.idx, self.prev_idx = device, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *_: object) -> None:
        if self.idx is not None:
            set_device_index(self.prev_idx)


def current_stream(device: Any = None, /) -> Any:
    """The current stream of a GPU (default: the current one), a `mpigrad.cuda.Stream`."""
    _available()
    return cuda.current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Make `stream`, a `mpigrad.cuda.Stream`, the current one."""
    _available()
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until all work on a GPU (default: the current one) is complete."""
    _available()
    cuda.synchronize(_index(device))


def empty_cache() -> None:
    """Return cached GPU memory that no array uses to the system."""
    _available()
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """Free and total memory of a GPU (default: the current one), in bytes."""
    _available()
    return cuda.mem_get_info(_index(device_index))


def memory_allocated(device_index: Any = None, /) -> int:
    """The number of bytes that arrays of this process use on a GPU (default: the current one)."""
    _available()
    return cuda.memory_allocated(_index(device_index))


def memory_reserved(device_index: Any = None, /) -> int:
    """The number of bytes that this process has reserved on a GPU: those of arrays and of its cache."""
    _available()
    return cuda.memory_reserved(_index(device_index))


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The largest `memory_allocated` so far, or since `reset_peak_memory_stats`.

    `device_index`: the GPU, by default the current one.
    """
    _available()
    return cuda.max_memory_allocated(_index(device_index))


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The largest `memory_reserved` so far, or since `reset_peak_memory_stats`.

    `device_index`: the GPU, by default the current one.
    """
    _available()
    return cuda.max_memory_reserved(_index(device_index))


def memory_stats(device_index: Any = None, /) -> dict[str, Any]:
    """Counters of a GPU's memory: a dictionary by PyTorch's names, such as "allocated_bytes.all.current".

    `device_index`: the GPU, by default the current one.
    """
    _available()
    return cuda.memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Start again with the measurement of `max_memory_allocated` and `max_memory_reserved`.

    `device_index`: the GPU, by default the current one.
    """
    _available()
    cuda.reset_peak_memory_stats(_index(device_index))
