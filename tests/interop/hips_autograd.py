"""HIPS autograd as a third framework: boxed arrays in calls and in graphs that cross workers. An adapter is all that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from autograd.core import VJPNode, add_outgrads
from autograd.tracer import Box, new_box, toposort

from mpigrad.interop import Graph, Received, TensorAdapter, register_adapter

_TRACE = 0  # one trace for the whole program: graphs grow until nothing refers to them


class _Node(VJPNode):
    """A node of a graph; `end` is set for a leaf (the leaf) and for a received array (`Received`)."""

    __slots__ = ("end",)


def variable(value: Any) -> Any:
    """An array whose uses are recorded; a leaf."""
    root = _Node.new_root()
    root.end = made = new_box(np.asarray(value), _TRACE, root)
    return made


class HipsAdapter(TensorAdapter):
    """The adapter of `autograd.tracer.Box`; gradients are plain arrays."""

    name = "autograd"

    def array_of(self, tensor: Any) -> Any:
        return np.asarray(tensor._value if isinstance(tensor, Box) else tensor)

    def describe(self, tensor: Any) -> bytes:
        return b""

    def make(self, array: Any, description: bytes, requires_grad: bool) -> Any:
        return variable(array)

    def requires_grad(self, tensor: Any) -> bool:
        return True

    def edge_of(self, tensor: Any) -> Any:
        return None if getattr(tensor._node, "end", None) is tensor else (tensor._node, 0)

    def attach(self, tensors: Sequence[Any], node: Any, places: Sequence[int]) -> None:
        for tensor, place in zip(tensors, places):
            tensor._node.end = Received(node, (place,))

    def gradient(self, array: Any, description: bytes) -> Any:
        return array

    def root_gradient(self, root: Any) -> Any:
        return np.ones_like(root._value)

    def graph_of(self, nodes: Sequence[Any]) -> Graph:
        below: dict[Any, Any] = {}
        ends: dict[Any, Any] = {}
        stack = list(nodes)
        while stack:
            node = stack.pop()
            if hasattr(node, "end"):
                ends[node] = node.end
            elif node not in below:
                below[node] = [(parent, 0) for parent in node.parents]
                stack.extend(node.parents)
        return Graph(below, ends)

    def run(self, outputs: Any, grads: Any, inputs: Any, keep: bool, create: bool, quiet: Any = ()) -> Sequence[Any]:
        if create:
            raise NotImplementedError("derivatives of derivatives")
        found: dict[Any, Any] = {}
        for (node, _), grad in zip(outputs, grads):
            if grad is not None:
                found[node] = add_outgrads(found.get(node), np.asarray(grad))
        top = VJPNode.new_root()
        top.parents = [node for node, _ in outputs]
        for node in toposort(top):
            if node in found and node.parents:
                for parent, grad in zip(node.parents, node.vjp(found.pop(node)[0])):
                    found[parent] = add_outgrads(found.get(parent), grad)
        return [found[node][0] if node in found else None for node, _ in inputs]


register_adapter(Box, HipsAdapter())
