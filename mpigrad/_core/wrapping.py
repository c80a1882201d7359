"""Tensors around arrays: made a few times by every operator and every message.

`wrapping.pyx` is compiled in this module's place and does the same with a quarter of the steps.
"""

from __future__ import annotations

from typing import Any

from .._tensor import Tensor


def wrap(array: Any) -> Tensor:
    """A plain tensor around an array: no gradient, no history."""
    made = object.__new__(Tensor)
    made._array = array
    made._requires = False
    made._grad_fn = made._grad = made._counter = made._view = made._extra = None
    made._nr = 0
    return made


def wrap_as(cls: type[Tensor], array: Any) -> Any:
    """A plain tensor of a subclass, such as Parameter."""
    if not issubclass(cls, Tensor):
        raise TypeError(f"{cls!r} is no class of tensors")
    made = object.__new__(cls)
    made._array = array
    made._requires = False
    made._grad_fn = made._grad = made._counter = made._view = made._extra = None
    made._nr = 0
    return made
