"""The GPUs of this host, their properties, and the current GPU of this thread."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from .._array import device as seam
from .._tensor import Tensor

Which = Any  # a device, a string, an index, or None for the current GPU


def index_of(which: Which) -> int:
    """The index of a GPU; an error if it does not exist."""
    if isinstance(which, int) and which < 0:
        return current_device()
    place = seam.resolve("cuda" if which is None else which)
    if place.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {place}")
    return place.index  # type: ignore[return-value]


def is_initialized() -> bool:
    """Whether CuPy has been loaded by mpigrad."""
    return seam.is_loaded()


def init() -> None:
    """Load CuPy now rather than on first use of a GPU."""
    seam.cupy()


def current_device() -> int:
    """The index of this thread's current GPU, which "cuda" refers to."""
    return seam.cupy().cuda.runtime.getDevice()


def set_device(device: Which) -> None:
    """Make the GPU `device` the current one of this thread. A negative index changes nothing."""
    if not (isinstance(device, int) and device < 0):
        seam.cupy().cuda.runtime.setDevice(index_of(device))


class device:
    """A context manager that makes a GPU the current one of this thread; None or a negative index changes nothing.

    >>> import mpigrad
    >>> with mpigrad.cuda.device(-1):
    ...     pass
    """

    def __init__(self, device: Which) -> None:
        nothing = device is None or isinstance(device, int) and device < 0
        self.idx = -1 if nothing else index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *error: object) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """A context manager that makes the GPU of the tensor `obj` the current one; a tensor on the CPU changes nothing."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


def synchronize(device: Which = None) -> None:
    """Wait until all work on all streams of a GPU (default: the current one) is complete."""
    seam.synchronize(seam.device("cuda", index_of(device)))


@dataclass(frozen=True)
class DeviceProperties:
    """The properties of a GPU; see `get_device_properties`."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int
    max_threads_per_multi_processor: int
    shared_memory_per_block: int
    regs_per_multiprocessor: int
    L2_cache_size: int

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, multi_processor_count={self.multi_processor_count})"
        )


def get_device_properties(device: Which = None) -> DeviceProperties:
    """The properties of a GPU: an object with `name`, `major`, `minor` (compute capability), `total_memory` in bytes
    and others.

    `device`: the GPU, by default the current one.
    """
    found = seam.cupy().cuda.runtime.getDeviceProperties(index_of(device))
    return DeviceProperties(
        found["name"].decode(), found["major"], found["minor"], found["totalGlobalMem"], found["multiProcessorCount"],
        found["warpSize"], found["maxThreadsPerMultiProcessor"], found["sharedMemPerBlock"],
        found["regsPerMultiprocessor"], found["l2CacheSize"],
    )  # fmt: skip


def get_device_name(device: Which = None) -> str:
    """The name of a GPU (default: the current one), such as "NVIDIA A100-SXM4-40GB"."""
    return get_device_properties(device).name


def get_device_capability(device: Which = None) -> tuple[int, int]:
    """The compute capability of a GPU (default: the current one), such as (8, 0)."""
    found = get_device_properties(device)
    return found.major, found.minor


def can_device_access_peer(device: Which, peer_device: Which) -> bool:
    """Whether the GPU `device` can read the memory of `peer_device`."""
    first, second = index_of(device), index_of(peer_device)
    return bool(seam.cupy().cuda.runtime.deviceCanAccessPeer(first, second))


def get_arch_list() -> list[str]:
    """The architectures of the GPUs of this host, such as "sm_80"; kernels are compiled for them on first use."""
    found = {get_device_capability(each) for each in range(seam.device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the current GPU can be used with bfloat16, which needs the package ml_dtypes.

    Operators compute in float32, so every GPU can; without `including_emulation` only those with bfloat16 in hardware count.
    """
    if not seam.is_available() or importlib.util.find_spec("ml_dtypes") is None:
        return False
    return including_emulation or get_device_capability()[0] >= 8


def ipc_collect() -> None:
    """No effect: mpigrad's processes do not share device memory."""
    seam.cupy()
