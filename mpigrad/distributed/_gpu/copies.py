"""Blocking copies of whole arrays between a GPU and host memory, through the pinned pool, with overlapping pieces."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from mpigrad._array.device import cupy, current_stream, device, device_of, on_device, pinned_empty, pointer

from .pinned import FOR_RECEIVES, FOR_SENDS, PinnedPool
from .transfers import PIECE_BITS, pieces

_DEPTH = 2  # pieces in flight: the GPU fills one pinned buffer while the other is copied out


def _buffer(pool: PinnedPool, nbytes: int) -> tuple[Any, bool]:
    """Return a pinned buffer, and whether it belongs to the pool: a new one is made if RPC uses all of the pool's."""
    found = pool.acquire(nbytes)
    return (pinned_empty(nbytes, "u1"), False) if found is None else (found, True)


def to_host(array: Any) -> np.ndarray:
    """Return a copy of a device array in host memory, complete."""
    place = device_of(array)
    with on_device(place):
        array = cupy().ascontiguousarray(array)
        made = np.empty(array.shape, array.dtype)
        raw, stream, runtime = made.reshape(-1).view(np.uint8), current_stream(place), cupy().cuda.runtime
        under_way: deque[tuple[Any, Any, bool, int, int]] = deque()
        for start, end in pieces(array.nbytes, 1 << PIECE_BITS):
            if len(under_way) == _DEPTH:
                _arrive(raw, *under_way.popleft())
            buffer, ours = _buffer(FOR_SENDS, end - start)
            kind = runtime.memcpyDeviceToHost
            runtime.memcpyAsync(pointer(buffer), pointer(array) + start, end - start, kind, stream.ptr)
            under_way.append((stream.record(), buffer, ours, start, end))
        while under_way:
            _arrive(raw, *under_way.popleft())
    return made


def _arrive(raw: np.ndarray, event: Any, buffer: Any, ours: bool, start: int, end: int) -> None:
    event.synchronize()
    raw[start:end] = buffer[: end - start]
    if ours:
        FOR_SENDS.release(buffer)


def to_device(source: np.ndarray, array: Any) -> None:
    """Copy an array on the host into a device array of the same shape, in the order of the current stream."""
    place = device_of(array)
    with on_device(place):
        whole = array if array.flags.c_contiguous else cupy().empty(array.shape, array.dtype)
        _copy_in(np.ascontiguousarray(source).reshape(-1).view(np.uint8), whole, place)
        if whole is not array:
            array[...] = whole


def _copy_in(raw: np.ndarray, array: Any, place: device) -> None:
    stream, runtime = current_stream(place), cupy().cuda.runtime
    for start, end in pieces(array.nbytes, 1 << PIECE_BITS):
        buffer, ours = _buffer(FOR_RECEIVES, end - start)
        buffer[: end - start] = raw[start:end]
        kind = runtime.memcpyHostToDevice
        runtime.memcpyAsync(pointer(array) + start, pointer(buffer), end - start, kind, stream.ptr)
        if ours:
            FOR_RECEIVES.release_after(stream.record(), buffer)
        else:
            stream.synchronize()
