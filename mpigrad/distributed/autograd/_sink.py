"""Where a pass's gradients end on this worker: in the context for leaves, with other workers for recv functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._graph.engine import as_array
from ..._graph.namespace import RAW
from ..._graph.node import AccumulateGrad, Node
from ..._tensor import wrap
from ._functions import RecvRpcBackward

if TYPE_CHECKING:
    from ._context import DistAutogradContext


class Sink:
    """Takes the gradients of nodes without edges: called by the engine as `sink(node, grad)`."""

    __slots__ = ("F", "context", "discard", "outgoing")

    def __init__(self, context: DistAutogradContext, F: Any, discard: bool = False) -> None:
        self.context, self.F = context, F
        self.discard = discard  # a pass that only computes what its caller captured keeps no gradient here
        self.outgoing: list[tuple[RecvRpcBackward, Any]] = []

    def __call__(self, node: Node, grad: Any) -> None:
        if node.__class__ is AccumulateGrad:
            if grad is not None and not self.discard:
                self.context.accumulate(node.variable, grad, self.F)  # type: ignore[attr-defined]
                if node.hooks is not None and node.hooks.post:
                    self._post_hooks(node, grad)
        elif isinstance(node, RecvRpcBackward):
            self.outgoing.append((node, grad))
        elif grad is not None:
            node.run(self.F, grad)

    def _post_hooks(self, node: Node, grad: Any) -> None:
        assert node.hooks is not None
        given = grad if self.F is not RAW else wrap(as_array(grad))
        for hook in list(node.hooks.post.values()):
            hook((), (given,))
