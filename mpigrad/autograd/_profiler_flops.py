"""Floating-point operations of an operator, from the shapes of its inputs, for `with_flops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

Shapes = Sequence[Sequence[int]]


def _product(shapes: Shapes) -> int:
    """The cost of the matrix product of the last two inputs, with broadcasting over batches."""
    first, second = shapes[-2:]
    rows, columns = prod(first[-2:-1]), prod(second[-1:]) if len(second) > 1 else 1
    return 2 * prod(np.broadcast_shapes(tuple(first[:-2]), tuple(second[:-2]))) * rows * prod(first[-1:]) * columns


def _elements(shapes: Shapes) -> int:
    return prod(shapes[0])


_COUNTS: dict[str, Callable[[Shapes], int]] = {
    **dict.fromkeys(("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::matmul", "aten::mv"), _product),
    "aten::add": _elements,
    "aten::mul": _elements,
}


def flops(name: str, shapes: Shapes) -> int:
    """The FLOPs of an operator, counted as PyTorch does: matrix products, `add` and `mul`; 0 for all other operators.

    >>> flops("aten::mm", [[2, 3], [3, 4]]), flops("aten::matmul", [[5, 1, 2, 3], [4, 3, 2]])
    (48, 480)
    >>> flops("aten::mul", [[5, 2], [2]]), flops("aten::exp", [[3]])
    (10, 0)
    """
    count = _COUNTS.get(name)
    return 0 if count is None or not shapes or count is not _elements and len(shapes) < 2 else count(shapes)
