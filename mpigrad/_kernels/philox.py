"""Philox4x32-10, the counter-based generator: block `i` of a stream is a function of the key and `i` alone.

So any part of a stream can be computed anywhere, in any order, on a CPU or a GPU, with the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_CHUNK = 1 << 13  # blocks computed at once: their arrays stay in the cache


def words(key: int, start: int, blocks: int, xp: Any = np) -> Any:
    """`4 * blocks` random 32-bit words: blocks `start`, `start + 1`, ... of the stream of `key` (64 bits)."""
    made = xp.empty((blocks, 4), xp.uint32)
    for begin in range(0, blocks, _CHUNK):
        part = made[begin : begin + _CHUNK]
        index = xp.arange(len(part), dtype=xp.uint64) + np.uint64((start + begin) % 2**64)
        zero = xp.zeros_like(index)
        rounds(part, index & _LOW, index >> _HALF, zero, zero.copy(), key, xp)
    return made.reshape(-1)


def rounds(out: Any, c0: Any, c1: Any, c2: Any, c3: Any, key: int, xp: Any = np) -> None:
    """Ten rounds on counters given as four arrays of 64-bit integers, which are used up; the words go into `out`."""
    k0, k1 = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    for _ in range(10):
        c0 *= _M0
        c2 *= _M1
        high0, high2 = c0 >> _HALF, c2 >> _HALF
        high2 ^= c1
        high2 ^= np.uint64(k0)
        high0 ^= c3
        high0 ^= np.uint64(k1)
        c2 &= _LOW
        c0 &= _LOW
        c0, c1, c2, c3 = high2, c2, high0, c0
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    out[:, 0], out[:, 1], out[:, 2], out[:, 3] = c0, c1, c2, c3


def uniform(source: Any, kind: np.dtype) -> Any:
    """Numbers in [0, 1) from words: one word each for half and single precision, two for double."""
    if kind.itemsize == 8:
        return ((source[0::2] >> 5) * 67108864.0 + (source[1::2] >> 6)) * (1.0 / 9007199254740992.0)
    bits, scale = (8, 2.0**-24) if kind.itemsize == 4 else (21, 2.0**-11)
    made = (source >> bits).astype(np.float32)
    made *= scale
    return made if kind.itemsize == 4 else made.astype(kind)


def normal(source: Any, kind: np.dtype) -> Any:
    """Numbers of the standard normal distribution from words, by Box and Muller: as many as `uniform` gives."""
    if kind.itemsize == 8:
        flat = uniform(source, kind)
        distance, angle = 1.0 - flat[0::2], flat[1::2]
        high: np.dtype = np.dtype("f8")
    else:
        distance, angle = source[0::2].astype(np.float32), source[1::2].astype(np.float32)
        distance += 1.0
        distance *= 2.0**-32
        angle *= 2.0**-32
        high = np.dtype("f4")
    radius = np.sqrt(-2.0 * np.log(distance))
    angle = angle * high.type(2 * np.pi)
    xp = np if isinstance(source, np.ndarray) else _module(source)
    made = xp.empty(2 * len(radius), high)
    made[0::2] = radius * np.cos(angle)
    made[1::2] = radius * np.sin(angle)
    return made if kind == high else made.astype(kind)


def _module(array: Any) -> Any:
    from .._device import array_module

    return array_module(array)
