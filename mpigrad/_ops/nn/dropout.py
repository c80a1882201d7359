"""Dropout as an operator whose numbers are drawn again for the gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpigrad._kernels.dropout import dropout

from .._define.operator import operator


def draws_again(array: Any) -> bool:
    """Whether it is better to draw the numbers twice than to keep what they said. On a GPU it is: drawing costs less than
    reading. On the CPU it takes longer than all else."""
    return array.__class__ is not np.ndarray and array.dtype.kind == "f"


native_dropout = operator(
    "native_dropout",
    dropout,
    lambda F, node, g: F.native_dropout(g, **node.kw),
    node="NativeDropoutBackward0",
)

__all__: list[str] = []
