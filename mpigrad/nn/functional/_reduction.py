"""The `reduction` argument of losses, and the two deprecated arguments that it replaced."""

from __future__ import annotations

import warnings

from ..._tensor import Tensor

KINDS = ("none", "mean", "sum")


def old_style(size_average: bool | None, reduce: bool | None, stacklevel: int) -> str:
    """The `reduction` ("mean", "sum" or "none") that the deprecated arguments `size_average` and `reduce` stand for;
    warns.

    `stacklevel` of the warning is counted from this function.
    """
    average, reduces = size_average is None or size_average, reduce is None or reduce
    found = "none" if not reduces else "mean" if average else "sum"
    said = f"size_average and reduce args will be deprecated, please use reduction='{found}' instead."
    warnings.warn(said, stacklevel=stacklevel)
    return found


def kind(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """Check the arguments of a loss and return its reduction, "mean", "sum" or "none"; ValueError if it is none of
    these.
    """
    if size_average is not None or reduce is not None:
        reduction = old_style(size_average, reduce, stacklevel=4)
    if reduction not in KINDS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduce_by(loss: Tensor, reduction: str) -> Tensor:
    """Reduce a loss: "none" returns it unchanged, "mean" and "sum" reduce all elements."""
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
