"""Scans with an associative function of two arguments, such as maxima: NumPy's `accumulate`, and a parallel scan on GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np


def running(function: np.ufunc, x: Any, dim: int) -> Any:
    """`function.accumulate(x, dim)`. CuPy has it for sums and products only; other functions use a parallel scan that doubles
    its span in each step."""
    if x.__class__ is np.ndarray:
        return function.accumulate(x, dim)
    made, length, span = x.copy(), x.shape[dim], 1
    while span < length:
        late, early = (slice(None),) * dim + (slice(span, None),), (slice(None),) * dim + (slice(0, length - span),)
        made[late] = function(made[early], made[late])
        span *= 2
    return made
