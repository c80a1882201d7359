"""Functions of one sparse tensor that map zero to zero: applied to the stored values, with PyTorch's node names."""

from __future__ import annotations

from typing import Any

from mpigrad._graph.namespace import DIFF
from mpigrad._tensor import Tensor

from .._define.operator import Operator
from .._define.sparse_calls import finish
from ..elementwise import arithmetic, functions, powers, rounding
from ..nn import activation

# Imported first: these operators get sparse implementations below.
_DEFINED = (activation, arithmetic, functions, powers, rounding)
NAMES = (
    "abs", "sqrt", "square", "sin", "tan", "sinh", "tanh", "asin", "asinh", "atan", "atanh", "expm1", "log1p", "relu",
    "sign", "sgn", "floor", "ceil", "round", "trunc", "frac", "erf", "erfinv", "deg2rad", "rad2deg", "pow_number",
)  # fmt: skip


class _Inner:
    """A node for the dense operator's derivative, without the arguments of the sparse operator."""

    __slots__ = ("kw", "needs", "shapes")

    def __init__(self, node: Any) -> None:
        self.kw = {key: value for key, value in node.kw.items() if key != "like"}
        self.needs, self.shapes = node.needs, (node.kw["like"].values.shape,)


def _twin(op: Operator) -> Operator:
    """The operator on sparse tensors: forward and derivative are those of `op`, applied to the coalesced values."""

    def forward(x: Any, *, like: Any, **kw: Any) -> Any:
        return like.with_values(op.forward(like.values, **kw))

    def backward(F: Any, node: Any, g: Any, *saved: Any) -> Any:
        like = node.kw["like"]
        values = [None if each is None else F.values_like(each, like=like) for each in saved]
        out = op.backward(F, _Inner(node), F.values_like(g, like=like), *values)
        return F.sparse_like(out[0] if out.__class__ is tuple else out, like=like)

    return Operator("sparse_" + op.name, forward, backward, op.saves, op.node_type.__name__)


def _install(op: Operator) -> None:
    twin = _twin(op)

    def call(_: Operator, inputs: Any, kw: dict[str, Any]) -> Tensor:
        kw = {**kw, "like": inputs[0]._array.coalesce().frozen()}
        return finish(twin, inputs, twin.forward(None, **kw), kw)

    op.sparse = twin.sparse = call


for _name in NAMES:
    _found = getattr(DIFF, _name)
    if isinstance(_found, Operator):
        _install(_found)

__all__: list[str] = []
