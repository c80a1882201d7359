"""Common parts of optimizer steps: the initial state, the step count, running averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array.device import array_module
from .._core.tensor import wrap
from .._tensor import Tensor


def zeros_like(parameter: Tensor) -> Tensor:
    """Zeros of a parameter's shape, for its state."""
    array = parameter._array
    return wrap(array_module(array).zeros(array.shape, array.dtype))


def scalar(value: float) -> Tensor:
    """A number in an optimizer's state, stored as in PyTorch: a zero-dimensional float32 tensor."""
    return wrap(np.asarray(value, np.float32))


def begin(state: dict[str, Any], parameter: Tensor, *names: str) -> None:
    """The state before the first step: a count of steps, and zeros of the parameter's shape under each name."""
    state["step"] = scalar(0)
    state.update((name, zeros_like(parameter)) for name in names)


def next_step(state: dict[str, Any]) -> int:
    """Increase the step count and return it."""
    count = state["step"]
    if isinstance(count, Tensor):
        count._array += 1
        return int(count._array)
    state["step"] = count + 1
    return count + 1


def drift(average: Any, value: Any, weight: float, room: Any) -> None:
    """`average += weight * (value - average)`, in place; `room` is a scratch array of the same shape."""
    np.subtract(value, average, out=room)
    room *= weight
    average += room


def decay_to_square(average: Any, g: Any, beta: float, room: Any) -> None:
    """`average = beta * average + (1 - beta) * g * g`, in place; `room` is a scratch array of the same shape."""
    average *= beta
    np.multiply(g, g, out=room)
    room *= 1 - beta
    average += room
