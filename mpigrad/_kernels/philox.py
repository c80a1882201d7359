"""Philox4x32-10, the counter-based generator: block `i` of a stream is a function of the key and `i` alone.

So any part of a stream can be computed anywhere, in any order, on a CPU or a GPU, with the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.device import array_module
from .kernel import Kernel, blocks_for, either, launch, letters_of

WORDS = Kernel("philox_words", "u32* made, i64 blocks, u64 key, u64 start", """
  EACH(i, blocks) {
    Words words = philox(key, start + (u64)i);
    for (int k = 0; k < 4; k++) made[4 * i + k] = words.w[k];
  }""", {})  # fmt: skip
UNIFORM = Kernel("philox_uniform", "const u32* source, T* made, i64 n", """
  const int each = sizeof(T) == 8 ? 2 : 1;
  EACH(i, n) {
    Words words;
    for (int k = 0; k < each; k++) words.w[k] = source[each * i + k];
    made[i] = (T)Uniform<T>::of(words, 0);
  }""")  # fmt: skip
NORMAL = Kernel("philox_normal", "const u32* source, T* made, i64 pairs", """
  const A whole = (A)6.283185307179586;
  EACH(i, pairs) {
    A distance, angle;
    if (sizeof(A) == 8) {
      Words words;
      for (int k = 0; k < 4; k++) words.w[k] = source[4 * i + k];
      distance = (A)(1.0 - Uniform<double>::of(words, 0));
      angle = (A)Uniform<double>::of(words, 1);
    } else {
      distance = ((A)source[2 * i] + 1) * (A)2.3283064365386963e-10;
      angle = (A)source[2 * i + 1] * (A)2.3283064365386963e-10;
    }
    A radius = sqrt(-2 * log(distance));
    made[2 * i] = (T)(radius * cos(angle * whole));
    made[2 * i + 1] = (T)(radius * sin(angle * whole));
  }""")  # fmt: skip

# the constants of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)
_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_CHUNK = 1 << 13  # blocks computed at once, so that their arrays stay in the cache


def words(key: int, start: int, blocks: int, xp: Any = np) -> Any:
    """`4 * blocks` random 32-bit words: blocks `start`, `start + 1`, ... of the stream of `key` (64 bits)."""
    made = xp.empty((blocks, 4), xp.uint32)
    if xp is not np:
        launch(xp, WORDS, "", blocks_for(blocks), 256, made, blocks, key, start % 2**64)
        return made.reshape(-1)
    for begin in range(0, blocks, _CHUNK):
        part = made[begin : begin + _CHUNK]
        index = xp.arange(len(part), dtype=xp.uint64) + np.uint64((start + begin) % 2**64)
        zero = xp.zeros_like(index)
        rounds(part, index & _LOW, index >> _HALF, zero, zero.copy(), key, xp)
    return made.reshape(-1)


def rounds(out: Any, c0: Any, c1: Any, c2: Any, c3: Any, key: int, xp: Any = np) -> None:
    """Ten rounds on counters given as four arrays of 64-bit integers, which are overwritten; the words are written to `out`."""
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


def _uniform(source: Any, kind: np.dtype) -> Any:
    """Numbers in [0, 1) from words: one word each for half and single precision, two for double."""
    if kind.itemsize == 8:
        # 27 and 26 bits of two words make 53, the digits of a double
        return ((source[0::2] >> 5) * 67108864.0 + (source[1::2] >> 6)) * (1.0 / 9007199254740992.0)
    bits, scale = (8, 2.0**-24) if kind.itemsize == 4 else (21, 2.0**-11)
    made = (source >> bits).astype(np.float32)
    made *= scale
    return made if kind.itemsize == 4 else made.astype(kind)


def _uniform_on_device(source: Any, kind: np.dtype) -> Any:
    xp = array_module(source)
    made = xp.empty(source.size // 2 if kind.itemsize == 8 else source.size, kind)
    launch(xp, UNIFORM, letters_of(made), blocks_for(made.size), 256, xp.ascontiguousarray(source), made, made.size)
    return made


def _normal(source: Any, kind: np.dtype) -> Any:
    """Numbers of the standard normal distribution from words, by Box and Muller: as many as `uniform` gives."""
    if kind.itemsize == 8:
        flat = _uniform(source, kind)
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
    made = np.empty(2 * len(radius), high)
    made[0::2] = radius * np.cos(angle)
    made[1::2] = radius * np.sin(angle)
    return made if kind == high else made.astype(kind)


def _normal_on_device(source: Any, kind: np.dtype) -> Any:
    xp, pairs = array_module(source), source.size // (4 if kind.itemsize == 8 else 2)
    made = xp.empty(2 * pairs, kind)
    launch(xp, NORMAL, letters_of(made), blocks_for(pairs), 256, xp.ascontiguousarray(source), made, pairs)
    return made


uniform = either(_uniform, _uniform_on_device, "I")
normal = either(_normal, _normal_on_device, "I")
