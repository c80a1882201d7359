"""`GradientEdge`: a position in the graph, given by a node and the index of its output."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.node import Node, edge_of
from .._tensor import Tensor


class GradientEdge(NamedTuple):
    """A position in the graph: a `node`, and the index `output_nr` of one of its outputs.

    `backward` and `grad` accept it in place of a tensor. `ownership_token` is a field of PyTorch's that is not used.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The graph position of `tensor`, a `GradientEdge`; it stays valid when the tensor is freed.

    >>> import mpigrad
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> mpigrad.autograd.graph.get_gradient_edge(x * 2).node.name()
    'MulBackward0'
    """
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)
