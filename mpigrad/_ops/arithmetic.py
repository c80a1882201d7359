"""Addition, subtraction, multiplication, division, negation: the operators behind Python's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._graph.namespace import RAW, add_to_both
from .._tensor import Tensor
from ._binary import binary
from ._define import OpNode, operator, raise_modified


class _MulNode(OpNode):
    """Multiplication, with its derivative on arrays spelled out: the hottest node of most programs."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        saved = self.saved
        if F is not RAW or self.meta is not None or saved is None or grad.dtype.kind == "c":
            return OpNode.run(self, F, grad)
        a, b = saved
        p, q = self.versions
        into_a = into_b = None
        if b is not None:
            count = b._counter
            if count is not None and count[0] != q:
                raise_modified(self, b, q)
            into_a = grad * b._array
        if a is not None:
            count = a._counter
            if count is not None and count[0] != p:
                raise_modified(self, a, p)
            into_b = grad * a._array
        return into_a, into_b


class _AddNode(OpNode):
    """Addition: the gradient goes to both."""

    __slots__ = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if self.meta is None and not self.kw:
            return grad, grad
        return OpNode.run(self, F, grad)


def _add_forward(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.add(x, y if alpha == 1 else y * x.dtype.type(alpha))


def _add_backward(F: Any, node: Any, g: Any) -> Any:
    alpha = node.kw.get("alpha", 1)
    return g, g if alpha == 1 else g * alpha


def _sub_forward(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(x, y if alpha == 1 else y * x.dtype.type(alpha))


def _mul_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    return None if b is None else g * F.conj(b), None if a is None else g * F.conj(a)


def _div_backward(F: Any, node: Any, g: Any, a: Any, b: Any) -> Any:
    into_a = g / F.conj(b)
    return into_a, None if a is None else -into_a * F.conj(a / b)


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x


NO_BOOL_SUB = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
)
add = binary("add", np.add, _add_backward, forward=_add_forward, base=_AddNode)
sub = binary(
    "sub",
    np.subtract,
    lambda F, node, g: (g, -(g * node.kw["alpha"]) if "alpha" in node.kw else -g),
    forward=_sub_forward,
    refuse_bool=NO_BOOL_SUB,
)
mul = binary("mul", np.multiply, _mul_backward, ((0, 1), (1, 0)), base=_MulNode)
div = binary("div", np.true_divide, _div_backward, ((0, 1), 1), to_float=True)
neg = operator("neg", np.negative, lambda F, node, g: -g)
conj_recorded = operator("conj_of_complex", np.conj, lambda F, node, g: F.conj(g), node="ConjBackward0")


def conj(tensor: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    return conj_recorded(tensor) if tensor._array.dtype.kind == "c" else tensor


add_to_both("conj", _conj, conj)

__all__: list[str] = []
