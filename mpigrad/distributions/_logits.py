"""Probabilities and logits: each is computed from the other on first use."""

from __future__ import annotations

from typing import Any

from .._array.dtype import finfo
from .._tensor import Tensor


def one_of(probs: Any, logits: Any) -> bool:
    """Whether probabilities were given; ValueError unless exactly one of `probs` and `logits` was."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities, limited to the range from eps to 1 - eps."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class Lazy:
    """An attribute that is computed on first use and then stored."""

    def __init__(self, fn: Any) -> None:
        self.fn, self.__doc__ = fn, fn.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.fn(instance)
        return found
