"""`DistAutogradContext`: one worker's share of a distributed graph, and `Sink`: where the gradients of a pass end on this worker.

Gradients of leaves are added up in the context; those of recv functions go to the workers that sent the tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpigrad._array.device import device, guard
from mpigrad._core.accumulate import grown, keep, sum_of_tensors
from mpigrad._core.engine import as_array, check_hook_results
from mpigrad._core.guard import enter, leave
from mpigrad._core.mutex import Mutex
from mpigrad._core.node import AccumulateGrad, Edge, Node
from mpigrad._core.tensor import wrap
from mpigrad._graph.grad_mode import TRACING
from mpigrad._graph.namespace import RAW
from mpigrad._graph.tracing import run_traced
from mpigrad._tensor import Tensor

from .nodes import Batches, MessageGradients, RecvRpcBackward, SendRpcBackward
from .partition import Parts, Source

if TYPE_CHECKING:
    from .joined import JoinedPart

_ROOTS = 64  # sets of roots whose graphs a context remembers


class DistAutogradContext:
    """What this worker knows of one context. The methods with a leading underscore answer as PyTorch's do.

    Invariants: `sends` and `recvs` only grow while the context lives; `gradients` is changed under `lock`; a context
    that was `released` takes part in nothing new, and is freed when no pass works on it any more.
    """

    __slots__ = (
        "context_id",
        "gradients",
        "joined",
        "known_workers",
        "lock",
        "missing",
        "origins",
        "parts",
        "reached",
        "recvs",
        "released",
        "roots",
        "sends",
    )

    def __init__(self, context_id: int) -> None:
        self.context_id = context_id
        self.sends: dict[int, SendRpcBackward] = {}
        self.recvs: dict[int, RecvRpcBackward] = {}
        self.known_workers: set[int] = set()
        self.gradients: dict[Tensor, Tensor] = {}
        self.missing: set[int] | None = None  # workers that had released this context: calls there were not recorded
        self.lock = Mutex()
        self.origins: dict[int, list[device]] | None = None  # by message: the senders' devices that tensors have left
        self.joined: dict[int, dict[Source, JoinedPart]] = {}  # by pass id: parts that wait for gradients of their sources
        self.parts = Parts(self.sends, self.joined, self.lock)
        self.reached: dict[int, set[int]] = {}  # by reach id: the send functions that a pass will bring gradients to
        self.roots: dict[tuple[Edge, ...], Source] = {}  # what is below the roots of earlier passes, which never changes
        self.released = False

    # -- what tests and debuggers ask ------------------------------------------------------------------------------
    def _context_id(self) -> int:
        return self.context_id

    def _send_functions(self) -> dict[int, SendRpcBackward]:
        return dict(self.sends)

    def _recv_functions(self) -> dict[int, RecvRpcBackward]:
        return dict(self.recvs)

    def _known_worker_ids(self) -> set[int]:
        return set(self.known_workers)

    def retrieve_send_function(self, message_id: int) -> SendRpcBackward:
        """The send function of one message."""
        found = self.sends.get(message_id)
        if found is None:
            raise RuntimeError(
                f"Could not find send function for autograd message id: {message_id} in context {self.context_id}"
            )
        return found

    # -- the graph -------------------------------------------------------------------------------------------------
    def source_of_roots(self, edges: list[Edge]) -> Source:
        """What is below the roots of a pass: walked once, since it never changes."""
        key = tuple(edges)
        found = self.roots.get(key)
        if found is None:
            nodes = list(dict.fromkeys([edge[0] for edge in edges])) if len(edges) > 1 else [edges[0][0]]
            found = self.roots[key] = Source(nodes, len(edges), edges)
            if len(self.roots) > _ROOTS:  # a context that lives long must not hold the graphs of all of its passes
                self.roots.pop(next(iter(self.roots)), None)
        return found

    def joined_parts(self, pass_id: int | None = None) -> list[JoinedPart]:
        """The parts of one pass (or of all) that wait for gradients on this worker."""
        self.lock.acquire()
        try:
            if not self.joined:  # nearly always, at each release
                return []
            by_source = self.joined.values() if pass_id is None else [self.joined.get(pass_id, {})]
            return list(dict.fromkeys([part for parts in by_source for part in parts.values()]))
        finally:
            self.lock.release()

    def check_whole(self) -> None:
        """Raise if a part of the graph is known to be missing: gradients would be wrong without anybody noticing."""
        if self.missing is not None:
            raise RuntimeError(
                f"calls in autograd context {self.context_id} were not recorded on the workers with ids {sorted(self.missing)}, "
                "which had been told that it was released: its gradients would be incomplete"
            )

    # -- gradients -------------------------------------------------------------------------------------------------
    def accumulate(self, variable: Tensor, grad: Any, F: Any, owned: bool = False) -> None:
        """Add a gradient of a leaf, in the context and never in `.grad`. `owned`: nobody else holds the gradient."""
        before = enter()
        self.lock.acquire()
        try:
            held = self.gradients.get(variable)
            if F is not RAW:
                self.gradients[variable] = grad if held is None else sum_of_tensors(held, grad)
            elif held is None:
                self.gradients[variable] = wrap(keep(grad, variable, owned))
            else:
                with guard(held._array):
                    self.gradients[variable] = grown(held, grad)
        finally:
            self.lock.release()
            leave(before)

    def note_origins(self, message_id: int, places: list[device]) -> None:
        """Remember which devices of its sender the tensors of a message have left: their gradients return there."""
        with self.lock:
            self.origins = {**(self.origins or {}), message_id: places}

    def give_gradients(self) -> dict[Tensor, Tensor]:
        """What passes have gathered here, by leaf."""
        with self.lock:
            return dict(self.gradients)


class Sink:
    """Takes the gradients of nodes without edges: called by the engine as `sink(node, grad, owned)`."""

    __slots__ = ("F", "context", "discard", "outgoing")

    def __init__(self, context: DistAutogradContext, F: Any, discard: bool = False) -> None:
        self.context, self.F = context, F
        self.discard = discard  # a pass that only computes what its caller captured keeps no gradient here
        self.outgoing: Batches = {}  # for other workers

    def __call__(self, node: Node, grad: Any, owned: bool = False) -> None:
        hooks = node.hooks
        if self.discard and type(node) is AccumulateGrad:
            return
        if hooks is not None and (hooks.pre or hooks.post) and grad is not None:
            self._watched(node, grad)
        elif type(node) is AccumulateGrad:
            if grad is not None:
                self.context.accumulate(node.variable, grad, self.F, owned)  # type: ignore[attr-defined]
        elif isinstance(node, RecvRpcBackward):
            self._leave(node, grad)
        elif grad is not None:
            node.run(self.F, grad)

    def _leave(self, node: RecvRpcBackward, grad: Any) -> None:
        if TRACING.on and grad is not None:
            run_traced(node, self.F, grad)
        leaving = MessageGradients(node.message_id, node.complete(grad, self.F))
        if node.worker in self.outgoing:
            self.outgoing[node.worker].append(leaving)
        else:
            self.outgoing[node.worker] = [leaving]

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
