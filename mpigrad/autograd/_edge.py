"""`GradientEdge`: a place in the graph, named by a node and the number of its output."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.node import Node, edge_of
from .._tensor import Tensor


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes; `backward` and `grad` take it in the tensor's place."""

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Give the place of `tensor` in the graph, which can outlive the tensor.

    >>> import mpigrad
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> mpigrad.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)
