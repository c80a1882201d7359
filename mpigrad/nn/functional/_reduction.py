"""How a loss is reduced: the `reduction` argument, and the two old ones that it replaced."""

from __future__ import annotations

import warnings

from ..._tensor import Tensor

KINDS = ("none", "mean", "sum")


def kind(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction asked for, checked."""
    if size_average is not None or reduce is not None:
        average, reduces = size_average is not False, reduce is not False
        reduction = "none" if not reduces else "mean" if average else "sum"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=3,
        )
    if reduction not in KINDS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_by(loss: Tensor, reduction: str) -> Tensor:
    """A loss as it is, its mean or its sum."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
