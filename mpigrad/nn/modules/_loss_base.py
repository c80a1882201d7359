"""What losses share: how the losses of the elements become one number, and weights of classes."""

from __future__ import annotations

import warnings

from ..._tensor import Tensor
from .module import Module


def _old_style(size_average: bool | None, reduce: bool | None) -> str:
    """The `reduction` that two arguments of old stood for."""
    average = size_average is None or size_average
    found = "none" if reduce is False else "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=5
    )
    return found


class Loss(Module):
    """A loss with a `reduction`: mean, sum or none."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = _old_style(size_average, reduce) if old else reduction


class WeightedLoss(Loss):
    """A loss with a weight for each class."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
