"""Base classes of losses: the reduction, and weights of classes."""

from __future__ import annotations

from ..._tensor import Tensor
from ..functional._reduction import old_style
from .module import Module


class Loss(Module):
    """Base class of losses; `reduction` is "mean" (default), "sum" or "none", as in `nn.functional`."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        old = size_average is not None or reduce is not None
        self.reduction = old_style(size_average, reduce, stacklevel=5) if old else reduction


class WeightedLoss(Loss):
    """Base class of losses with a weight for each class, kept as the buffer `weight`."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
