"""Probabilities and logits: each computed from the other when first asked for."""

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
    """Probabilities kept away from 0 and 1 by the smallest difference from 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class Lazy:
    """An attribute computed when first asked for, and kept."""

    def __init__(self, fn: Any) -> None:
        self.fn, self.__doc__ = fn, fn.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        found = instance.__dict__[self.name] = self.fn(instance)
        return found
