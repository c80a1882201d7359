"""Where a pass's gradients end on this worker: in the context for leaves, with other workers for recv functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpigrad._graph.engine import as_array, check_hook_results
from mpigrad._graph.grad_mode import TRACING
from mpigrad._graph.namespace import RAW
from mpigrad._graph.node import AccumulateGrad, Node
from mpigrad._graph.tracing import run_traced
from mpigrad._wrapping import wrap

from .._nodes import RecvRpcBackward

if TYPE_CHECKING:
    from .._context.context import DistAutogradContext


class Sink:
    """Takes the gradients of nodes without edges: called by the engine as `sink(node, grad)`."""

    __slots__ = ("F", "context", "discard", "outgoing")

    def __init__(self, context: DistAutogradContext, F: Any, discard: bool = False) -> None:
        self.context, self.F = context, F
        self.discard = discard  # a pass that only computes what its caller captured keeps no gradient here
        self.outgoing: list[tuple[RecvRpcBackward, Any]] = []

    def __call__(self, node: Node, grad: Any) -> None:
        hooks = node.hooks
        if self.discard and type(node) is AccumulateGrad:
            return
        if hooks is not None and (hooks.pre or hooks.post) and grad is not None:
            self._watched(node, grad)
        elif type(node) is AccumulateGrad:
            if grad is not None:
                self.context.accumulate(node.variable, grad, self.F)  # type: ignore[attr-defined]
        elif isinstance(node, RecvRpcBackward):
            self._leave(node, grad)
        elif grad is not None:
            node.run(self.F, grad)

    def _leave(self, node: RecvRpcBackward, grad: Any) -> None:
        if TRACING.on and grad is not None:
            run_traced(node, self.F, grad)
        self.outgoing.append((node, grad))

    def _watched(self, node: Node, grad: Any) -> None:
        """Take a gradient with the node's hooks around it: those before may change it, those after see it."""
        assert node.hooks is not None
        raw = self.F is RAW
        given = tuple(
            wrap(as_array(each)) if raw and each is not None else each
            for each in (grad if node.outputs != 1 else [grad])
        )
        for hook in list(node.hooks.pre.values()):
            given = check_hook_results(hook, hook(given), given)
        values = [each._array if raw and each is not None else each for each in given]
        if type(node) is AccumulateGrad:
            self.context.accumulate(node.variable, values[0], self.F)  # type: ignore[attr-defined]
        elif isinstance(node, RecvRpcBackward):
            self._leave(node, values if node.outputs != 1 else values[0])
        else:
            node.run(self.F, values if node.outputs != 1 else values[0])
        for hook in list(node.hooks.post.values()):
            hook((), given)
