"""Views in compiled graphs, called without the detour through Python's operators and methods: `x[n]`, `x.view(...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mpigrad._ops._define.sizes import resolve
from mpigrad._ops._define.views import ViewOperator
from mpigrad._ops.shape.reshape import VIEW
from mpigrad._ops.shape.slicing import SELECT
from mpigrad._tensor import Tensor

from .._ir.graph import Node
from .._ir.types import TENSOR

_view: Any = ViewOperator.__call__  # as a function: calls of objects cost more
ndarray = np.ndarray


def item(a: Any, n: Any) -> Any:
    """`a[n]`, of a tensor by a number within it."""
    if a.__class__ is Tensor and n.__class__ is int:
        array = a._array
        if array.__class__ is ndarray and array.ndim and -array.shape[0] <= n < array.shape[0]:
            return _view(SELECT, a, key=(n, ...))
    return a[n]


def direct_shape(name: str, node: Node) -> Callable[[Any], Any] | None:
    """For `x.view(2, 3)` and `x.reshape(2, 3)` with constant lengths: a function of the tensor alone."""
    first, *lengths = node.inputs
    if name not in ("view", "reshape") or node.keywords or first.type != TENSOR or not lengths:
        return None
    values = tuple(None if each.node is None or each.node.op != "prim::Constant" else each.node.attributes.get("value")
                   for each in lengths)  # fmt: skip
    return _shaped(name, values) if all(type(each) is int for each in values) else None


def _shaped(name: str, lengths: tuple[Any, ...]) -> Callable[[Any], Any]:
    count = -1 if -1 in lengths else int(np.prod(lengths, dtype=object))

    def call(a: Any) -> Any:
        if a.__class__ is Tensor:
            array = a._array
            if array.__class__ is ndarray and array.flags.c_contiguous and (array.size == count or count < 0):
                return _view(VIEW, a, shape=lengths if count >= 0 else resolve(lengths, array.size))
        return getattr(a, name)(*lengths)

    return call
