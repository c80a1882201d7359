"""Makes the device of the tensors the current one, for functions that compute on arrays outside of operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from mpigrad._array.device import on_device
from mpigrad._tensor import Tensor

from .operator import check_one_device

Fn = TypeVar("Fn", bound=Callable[..., Any])


def guarded(fn: Fn) -> Fn:
    """Decorator: run `fn` with the device of its tensors as the current one, which CuPy requires.

    Tensors of several devices raise an error, as in operators.
    """
    ndarray = np.ndarray

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        # on the CPU nothing is done beyond this loop
        for each in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(each, Tensor) and each._array.__class__ is not ndarray:
                return _on_one_device(fn, args, kwargs)
        return fn(*args, **kwargs)

    return call  # type: ignore[return-value]


def _on_one_device(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    arrays = [each._array for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
    with on_device(check_one_device(fn.__name__, arrays)):
        return fn(*args, **kwargs)
