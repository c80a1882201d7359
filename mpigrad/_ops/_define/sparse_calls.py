"""Calls of operators with sparse tensors: types are promoted first, and results are never views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpigrad._core.engine import as_array
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import MODE
from mpigrad._tensor import Tensor, extra

from .binary import common_dtype
from .operator import Operator


def finish(op: Operator, inputs: Sequence[Tensor | None], out: Any, kw: dict[str, Any]) -> Tensor:
    """Wrap a result and record the operator if an input requires grad, without creating a view."""
    made = wrap(as_array(out))
    if MODE.inference:
        extra(made).inference = True
    if MODE.enabled and made._array.dtype.kind in "fcV" and any(each is not None and each._requires for each in inputs):
        op.record(inputs, (made,), kw)
    return made


def on_arrays(op: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
    """The sparse implementation of an operator whose forward also accepts sparse arrays."""
    return finish(op, inputs, op.forward(*(None if each is None else each._array for each in inputs), **kw), kw)


def in_common(inputs: Sequence[Tensor], to_float: bool = False) -> list[Any]:
    """The inputs' arrays, sparse or dense, with elements of one type; `to_float` as in `common_dtype`."""
    wanted = common_dtype(inputs, to_float).numpy
    return [each._array if each._array.dtype == wanted else each._array.astype(wanted) for each in inputs]
