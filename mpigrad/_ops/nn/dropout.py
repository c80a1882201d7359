"""Dropout as an operator that recomputes its random numbers for the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._kernels.dropout import dropout

from .._define.operator import operator


def draws_again(array: Any) -> bool:
    """Whether to draw the random numbers twice instead of saving a mask. On a GPU drawing is faster than reading memory; on the
    CPU it would dominate the time."""
    return array.__class__ is not np.ndarray and array.dtype.kind == "f"


native_dropout = operator(
    "native_dropout",
    dropout,
    lambda F, node, g: F.native_dropout(g, **node.kw),
    node="NativeDropoutBackward0",
)

__all__: list[str] = []
