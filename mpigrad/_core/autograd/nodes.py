"""`SendRpcBackward` and `RecvRpcBackward`: the two ends of a tensor's journey; each one's gradient is the other's message.

A send function sits where tensors left this worker: gradients come back to it in a message and go on along its edges.
A recv function sits where tensors arrived: the gradients that reach it leave in a message to the matching send function.
Both are found by the autograd message id of the message that carried the tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray, zeros

from mpigrad._array.device import device_of, module_for, on_device
from mpigrad._core.node import Node, edge_of
from mpigrad._core.tensor import wrap
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor


class MessageGradients:
    """Gradients on their way from a recv function to the send function of the same message: one for each tensor sent."""

    __slots__ = ("grads", "message_id")

    def __init__(self, message_id: int, grads: list[Any]) -> None:
        self.message_id, self.grads = message_id, grads


Batches = dict[int, list[MessageGradients]]  # by the rank of the worker that sent the tensors


class SendRpcBackward(Node):
    """Where tensors left. It has no gradients of its own to wait for: they are given to it by a message."""

    __slots__ = ("_grads", "outputs")
    outputs: int  # type: ignore[misc]

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.edges, self.hooks = tuple(map(edge_of, tensors)), None
        self.outputs = len(self.edges)
        self._grads: Sequence[Tensor | None] = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (grad,) if self.outputs == 1 else tuple(grad)

    def name(self) -> str:
        return "torch::distributed::autograd::SendRpcBackward"

    def set_grads(self, grads: Sequence[Tensor | None]) -> None:
        """Store the gradients that arrived for the tensors sent."""
        self._grads = list(grads)

    def get_grads(self) -> list[Tensor | None]:
        """The gradients stored by `set_grads`."""
        return list(self._grads)

    def apply(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Give the stored gradients on. Nothing may come in along the local graph, and all of them must be there."""
        if len(inputs) != 0:
            raise RuntimeError(f"SendRpcBackward should receive no inputs, instead received {len(inputs)}")
        for place, grad in enumerate(self._grads):
            if grad is None:
                raise RuntimeError(f"BUG!: SendRpcBackward didn't receive valid gradients: number {place} is undefined")
        return [grad for grad in self._grads if grad is not None]


class RecvRpcBackward(Node):
    """Where tensors arrived: the end of this worker's graph, and the way back to the worker that sent them."""

    __slots__ = ("message_id", "metas", "outputs", "worker")
    outputs: int  # type: ignore[misc]
    worker: int  # the rank that sent the tensors
    message_id: int  # names the send function there
    metas: list[Any]  # shape, dtype, and the device unless it is the host

    def __init__(self, worker: int, message_id: int, tensors: Sequence[Tensor]) -> None:
        self.edges, self.hooks = (), None
        self.worker, self.message_id, self.outputs = worker, message_id, len(tensors)
        self.metas = _attach(self, tensors)

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (grad,) if self.outputs == 1 else tuple(grad)  # they go no further here

    def name(self) -> str:
        return "torch::distributed::autograd::RecvRpcBackward"

    def complete(self, grad: Any, F: Any) -> list[Any]:
        """The gradients for every tensor received: zeros where nothing arrived, as in PyTorch."""
        grads = [grad] if self.outputs == 1 else [None] * self.outputs if grad is None else grad
        for place, value in enumerate(grads):
            if value is None:
                made = _zeros(*self.metas[place])
                grads[place] = made if F is RAW else wrap(made)
        return grads


def _attach(node: RecvRpcBackward, tensors: Sequence[Tensor]) -> list[Any]:
    """Make tensors outputs of a node; gives what there is to know about gradients of them."""
    metas = []
    for nr, tensor in enumerate(tensors):
        tensor._grad_fn, tensor._nr, tensor._requires = node, nr, True
        array = tensor._array
        metas.append((array.shape, array.dtype, None if type(array) is ndarray else device_of(array)))
    return metas


def _zeros(shape: tuple[int, ...], kind: Any, place: Any) -> Any:
    if place is None:
        return zeros(shape, kind)
    with on_device(place):
        return module_for(place).zeros(shape, kind)
