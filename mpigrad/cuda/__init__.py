"""GPUs, with the API of `torch.cuda`: devices, streams, memory and random numbers. Importing it does not load CuPy.

Where a function takes a `device`, this is a `device`, a string or an index; None means the current GPU.
"""

from .._array.device import device_count, is_available
from . import memory, nvtx, random, streams
from ._devices import (
    can_device_access_peer,
    current_device,
    device,
    device_of,
    get_arch_list,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    ipc_collect,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
)
from .memory import (
    OutOfMemoryError,
    device_memory_used,
    empty_cache,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    _sleep,
    current_stream,
    default_stream,
    get_stream_from_external,
    set_stream,
    stream,
)

__all__ = [
    "Event", "ExternalStream", "OutOfMemoryError", "Stream", "StreamContext", "can_device_access_peer", "current_device",
    "current_stream", "default_stream", "device", "device_count", "device_memory_used", "device_of", "empty_cache",
    "get_arch_list", "get_device_capability", "get_device_name", "get_device_properties",
    "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all", "get_stream_from_external", "init",
    "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_stats", "memory_stats_as_nested_dict",
    "memory_summary", "nvtx", "random", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "streams", "synchronize",
]  # fmt: skip
