"""Reductions of arrays: NumPy's ufuncs without their detour through Python, CuPy's methods for device arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ndarray = np.ndarray


def _reducer(ufunc: Any, method: str) -> Callable[..., Any]:
    quick = ufunc.reduce

    def reduce(x: Any, axis: Any = None, keepdims: bool = False, **kw: Any) -> Any:
        if x.__class__ is ndarray:
            return quick(x, axis=axis, keepdims=keepdims, **kw)
        return getattr(x, method)(axis=axis, keepdims=keepdims, **kw)

    return reduce


add_reduce = _reducer(np.add, "sum")
multiply_reduce = _reducer(np.multiply, "prod")
max_reduce = _reducer(np.maximum, "max")
min_reduce = _reducer(np.minimum, "min")
any_reduce = _reducer(np.logical_or, "any")
all_reduce = _reducer(np.logical_and, "all")
