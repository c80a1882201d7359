"""Functions that compute on their tensors' arrays outside of operators: on a GPU they run with that GPU as the current one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .._device import guard
from .._tensor import Tensor

Fn = TypeVar("Fn", bound=Callable[..., Any])


def guarded(fn: Fn) -> Fn:
    """`fn`, with the device of its first tensor as the current one; CuPy refuses to work on arrays of another."""
    ndarray = np.ndarray

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        for each in args:
            if isinstance(each, Tensor):
                array = each._array
                if array.__class__ is ndarray:
                    break
                with guard(array):
                    return fn(*args, **kwargs)
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]
