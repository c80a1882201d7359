"""The implementation of `mpigrad.interop.torch`: graphs with nodes of both libraries in one process.

torch's engine runs such graphs. A tensor that `from_torch` has made is an end of mpigrad's graph, a `Converted` node. `to_torch`
makes a part of mpigrad's graph, from its tensor to the ends, one node of torch's graph (`FromOurs`), whose inputs are the ends:
torch tensors that were converted, and an `_End` for each leaf and recv function of mpigrad. So torch knows what depends on what,
and a distributed pass sees a graph of torch whose ends are leaves and recv functions, as always (`_core/autograd/guests.py`).
When a pass starts at a tensor of mpigrad, or one is sent, whose graph leads to converted tensors, that tensor is converted first.

A part runs once for each of its tensors that was converted, so what its nodes have saved is kept as long as the graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .._array.dtype import bfloat16
from .._array.sparse.array import SparseArray
from .._core.autograd.graph import RecvRpcBackward
from .._core.engine import GraphTask, count_dependencies
from .._core.node import AccumulateGrad, Converted, DiscardGrad, Edge, Node, edge_of
from .._graph.grad_mode import MODE
from .._graph.namespace import DIFF, RAW
from .._tensor import Tensor
from ._torch import Ours, SharedMemory, TorchAdapter, elements, recv_node
from ._torch import from_torch as from_torch


# -- conversions -------------------------------------------------------------------------------------------------------
def to_torch(tensor: Tensor) -> Any:
    """The implementation of `mpigrad.interop.torch.to_torch`."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_torch(): argument must be a mpigrad.Tensor, not {type(tensor).__name__}")
    plain = plain_of(tensor._array)
    return recorded(tensor, plain) if MODE.enabled and torch.is_grad_enabled() else plain


def plain_of(array: Any) -> Any:
    """A torch tensor with the memory of an array, if torch can have it; otherwise with a copy."""
    if type(array) is np.ndarray:
        if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
            array = array.copy()
        if array.dtype.kind == "V" and array.dtype == bfloat16.numpy:
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)
    if type(array) is SparseArray:
        parts, shape = (plain_of(array.indices), plain_of(array.values)), tuple(array.shape)
        return torch.sparse_coo_tensor(*parts, shape, check_invariants=False, is_coalesced=bool(array.is_coalesced))
    return torch.from_dlpack(array)


def recorded(tensor: Tensor, plain: Any) -> Any:
    """The torch tensor `plain` as the result of the graph of `tensor`, if that requires grad."""
    edge = edge_of(tensor)
    if edge is None:
        return plain
    part = _Part(edge, SharedMemory(plain, tensor))
    return FromOurs.apply(part, [plain], *part.inputs) if part.inputs else plain


# -- parts of mpigrad's graph ------------------------------------------------------------------------------------------
class _End:
    """Torch tensors that stand for the outputs of a leaf or a recv function of mpigrad, where its graph ends.

    They have no elements. Their node is that of received tensors, from which a distributed pass goes on to mpigrad's node.
    """

    def __init__(self, node: Any) -> None:
        if type(node) is AccumulateGrad:
            kinds = [node.variable._array]
        else:
            kinds = [np.broadcast_to(np.zeros((), kind), shape) for shape, kind, _, _ in node.metas]
        self.node = node
        self.tensors = [_shape_of(each) for each in kinds]
        recv_node(Ours(node, range(len(kinds))), self.tensors)


def _shape_of(array: Any) -> Any:
    """A torch tensor with the shape, element type and device of an array, and memory for one element."""
    one = plain_of(np.zeros(1, array.dtype))
    place = "cpu" if isinstance(array, (np.ndarray, SparseArray)) else torch.from_dlpack(array).device
    return one.to(place).expand(array.shape)


_ends: weakref.WeakValueDictionary[int, _End] = weakref.WeakValueDictionary()  # by the id of their node, which they keep
_making = threading.RLock()


def end_of(node: Node) -> _End:
    """The `_End` of a node, always the same one, so that torch adds up its gradients."""
    with _making:
        found = _ends.get(id(node))
        if found is None:
            found = _ends[id(node)] = _End(node)
        return found


class _Part:
    """The part of mpigrad's graph below an edge. `inputs` are torch tensors, which get the gradients that leave it."""

    def __init__(self, edge: Edge, memory: SharedMemory) -> None:
        self.edge, self.counts = edge, count_dependencies([edge[0]])
        self.inputs: list[Any] = []
        self._memory = [memory]
        self.ends: dict[Node, Any] = {}  # the nodes to which `inputs` belong, several to a recv function; their `_End` or None
        for node in self.counts:
            if type(node) is Converted:
                self.ends[node] = None
                self.inputs.append(node.origin)
                self._memory.append(node.memory)
            elif type(node) is AccumulateGrad or type(node) is RecvRpcBackward:
                self.ends[node] = end = end_of(node)
                self.inputs += end.tensors
        # what the nodes have saved, which other passes over them would free
        found = [(node, name, getattr(node, name, None)) for node in self.counts for name in _SAVED]
        self._saved = [each for each in found if each[2] is not None]

    def run(self, grad: Any, create: bool) -> list[Any]:
        """Compute the gradients of `inputs`."""
        for node, name, value in self._saved:
            if getattr(node, name) is None:
                setattr(node, name, value)
        for each in self._memory:
            each.notice_changes()
        found: dict[Node, list[Any]] = {}
        F = DIFF if create else RAW

        def sink(node: Node, grad: Any, owned: bool) -> None:
            if node in self.ends:
                found[node] = grad if node.outputs != 1 and grad is not None else [grad]
            elif type(node) is not DiscardGrad and grad is not None:
                node.run(F, grad)

        task = _PartTask(F, self.counts.copy(), True, sink)
        task.feed(*self.edge, from_torch(grad) if create else elements(grad))
        task.start(self.edge[0])
        before, MODE.enabled = MODE.enabled, create
        try:
            task.run()
        finally:
            MODE.enabled = before
        return [_given(each) for node in self.ends for each in found.get(node) or [None] * node.outputs]


_SAVED = ("saved", "_saved")  # of operators, and of custom functions


class _PartTask(GraphTask):
    """A pass over a part. Hooks of leaves and recv functions are not called: they get the whole gradient later."""

    def _before(self, node: Node, grad: Any) -> Any:
        return grad if type(node) in (AccumulateGrad, RecvRpcBackward) else super()._before(node, grad)


def _given(grad: Any) -> Any:
    """A gradient that leaves a part, as a torch tensor whose memory has no other users, since torch may keep it."""
    if grad is None:
        return None
    if isinstance(grad, Tensor):
        return to_torch(grad)
    if isinstance(grad, (np.ndarray, np.generic)):
        return plain_of(np.array(grad))
    return plain_of(grad if type(grad) is SparseArray else grad.copy())


class FromOurs(torch.autograd.Function):
    """The torch node of a part of mpigrad's graph."""

    @staticmethod
    def forward(ctx: Any, part: _Part, plain: list[Any], *inputs: Any) -> Any:
        ctx.part = part
        ctx.set_materialize_grads(False)
        return plain[0]

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if grad is None:
            return (None,) * (2 + len(ctx.part.inputs))
        return None, None, *ctx.part.run(grad, torch.is_grad_enabled())


# -- passes ------------------------------------------------------------------------------------------------------------
def from_ours(adapter: Any, tensor: Tensor) -> Any:
    """The implementation of `TensorAdapter.from_ours`. It is recorded even if this thread is in `no_grad` or inference mode."""
    with torch.inference_mode(False), torch.enable_grad():
        return recorded(tensor, plain_of(tensor._array))


def run_backward(
    adapter: Any, roots: Sequence[Any], grads: Sequence[Any], targets: Sequence[Any] | None, keep: bool, create: bool
) -> list[Any]:
    """The implementation of `TensorAdapter.run_backward`."""
    if not all(isinstance(each, Tensor) for each in roots):
        raise RuntimeError("a backward pass into a graph of torch must start at tensors, not at a GradientEdge")
    given = [to_torch(each) if create else plain_of(each) for each in grads]
    starts = [from_ours(adapter, root) for root in roots]
    if targets is None:
        torch.autograd.backward(starts, given, keep, create)
        return []
    ends = [_input_of(each) for each in targets]
    found = torch.autograd.grad(starts, ends, given, keep, create, allow_unused=True)
    return [None if each is None else from_torch(each) if create else elements(each) for each in found]


def _input_of(target: Any) -> Any:
    """The torch tensor whose gradient is that of `target`, an input of `mpigrad.autograd.grad`."""
    edge = edge_of(target) if isinstance(target, Tensor) else (target.node, target.output_nr)
    if edge is not None and type(edge[0]) is Converted:
        return edge[0].origin
    if edge is None or type(edge[0]) is not AccumulateGrad:
        raise RuntimeError(
            "in a graph with tensors of torch, gradients can be computed for leaves and for results of from_torch, not for other "
            "tensors"
        )
    return end_of(edge[0]).tensors[0]


TorchAdapter.from_ours, TorchAdapter.run_backward = from_ours, run_backward
