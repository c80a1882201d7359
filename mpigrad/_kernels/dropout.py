"""Dropout with a counter-based generator: the gradient recomputes the random numbers instead of storing a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.device import array_module
from .._core import kernels
from . import philox
from .kernel import Kernel, blocks_for, either, launch, letters_of

DROPOUT = Kernel("dropout", "const T* x, T* made, i64 n, u64 key, u64 start, double p, double scale", """
  const int each = sizeof(T) == 8 ? 2 : 4;  // numbers in one block of the generator
  const A least = (A)(T)(A)p, factor = (A)(T)(A)scale;
  EACH(i, (n + each - 1) / each) {
    Words words = philox(key, start + (u64)i);
    for (int k = 0; k < each && i * each + k < n; k++)
      made[i * each + k] = (T)((A)x[i * each + k] * (Uniform<T>::of(words, k) >= least ? factor : 0));
  }""")  # fmt: skip


_EACH = kernels.find("dropout")


def words_for(count: int, kind: np.dtype) -> int:
    """The number of random words that `count` elements use."""
    return 2 * count if kind.itemsize == 8 else count


def _dropout(x: Any, *, key: int, start: int, p: float, scale: float) -> Any:
    """`x` times `scale` with probability 1 - p, else 0; the random numbers begin at block `start` of the Philox stream of `key`.
    """
    if _EACH >= 0 and x.__class__ is np.ndarray:
        made = np.empty(x.shape, x.dtype)
        if kernels.run(_EACH, (x, made, x.size, key, start, p, scale)):
            return made
    count = words_for(x.size, x.dtype)
    drawn = philox.uniform(philox.words(key, start, (count + 3) // 4)[:count], x.dtype)
    kept = (drawn >= p).astype(x.dtype)
    kept *= x.dtype.type(scale)
    return x * kept.reshape(x.shape)


def _dropout_on_device(x: Any, *, key: int, start: int, p: float, scale: float) -> Any:
    xp, n = array_module(x), x.size
    made = xp.empty(x.shape, x.dtype)
    launch(xp, DROPOUT, letters_of(x), blocks_for(-(-n // 2)), 256, xp.ascontiguousarray(x), made, n, key, start, p, scale)
    return made


dropout = either(_dropout, _dropout_on_device)
