"""One worker's share of a distributed graph: send and recv functions, paths, and the division into parts.

`SendRpcBackward` and `RecvRpcBackward` connect the graphs of two workers. A send function is above tensors that this worker has
sent: gradients arrive for it in a message and continue along its edges. A recv function is below tensors that this worker has
received: gradients that reach it are sent to the matching send function. Both have the autograd message id of the message that
carried the tensors.

`Path`: the graph below the roots or a send function is often a single path: a loss computed from the result of a call, a function
of its arguments, leaves that were sent directly. It runs node by node, without the engine's queue and dependency counts. The last
node may have several ends below it, including several outputs of one recv function.

`Source` and `Parts`: most graphs below send functions share no nodes with others except leaves, where gradients may be added in
any order. Such a send function is *independent*, and its gradients are passed on as soon as they arrive. Send functions that
share a node form a *joined part* with several sources: a shared node must run once, with the sum of its gradients, so it has to
know how many the pass will bring. Only the reach phase finds that out (see `_core/autograd/passes.py`).

Invariants
- The graph below a send function never changes after the send, so it is traversed once.
- Nothing here refers to the context, so there are no reference cycles: all is freed with the context, without the garbage
  collector.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, cast

from numpy import ndarray, zeros

from mpigrad._array.device import device_of, is_loaded, module_for, on_device
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor
from mpigrad.interop._adapters import adapter_of

from ..engine import GraphTask, count_dependencies
from ..node import AccumulateGrad, Converted, Edge, Hooks, Node, edge_of, next_sequence
from ..objects import Mutex, sole
from ..tensor import GuestTensor, wrap
from .guests import GuestLeaf, GuestOutput, Segment, attach, divide, edge_of_guest, guests_of, in_framework, wire_array

if TYPE_CHECKING:
    from .passes import JoinedPart


# -- send and recv functions --------------------------------------------------------------------------------
class MessageGradients:
    """The gradients of the tensors of one message, from its recv function to its send function.

    `message_id` is the autograd message id; `grads` has one gradient for each tensor that required grad.
    """

    __slots__ = ("grads", "message_id")

    def __init__(self, message_id: int, grads: list[Any]) -> None:
        self.message_id, self.grads = message_id, grads


Batches = dict[int, list[MessageGradients]]  # by the rank of the worker that sent the tensors


class SendRpcBackward(Node):
    """The send function above tensors that were sent: the node where their gradients, which a message brings, enter the graph."""

    __slots__ = ("_grads", "guests", "outputs")
    outputs: int  # type: ignore[misc]
    guests: list[Any] | None  # adapter and description of each guest, None for ours; None if there are no guests

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.hooks = self.guests = None
        self._sequence = next_sequence()
        edges = []
        tensors = list(map(in_framework, tensors)) if Converted.used else tensors
        for tensor in tensors:
            if type(tensor) is GuestTensor:
                self.guests = [(each.adapter, each.description) if type(each) is GuestTensor else None for each in tensors]
                edges.append(edge_of_guest(tensor.adapter, tensor.tensor))
            else:
                edges.append(edge_of(tensor))  # type: ignore[arg-type]
        self.edges = tuple(edges)
        self.outputs = len(self.edges)
        self._grads: Sequence[Tensor | None] = ()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        if self.guests is not None:
            grad = self._to_guests(grad)
        return (grad,) if self.outputs == 1 else tuple(grad)

    def with_edges(self, edges: Sequence[Edge | None]) -> SendRpcBackward:
        """Return a copy of this node with other edges."""
        made = SendRpcBackward(())
        made.edges, made.hooks, made.guests, made.outputs = tuple(edges), self.hooks, self.guests, self.outputs
        return made

    def kinds(self) -> list[Any]:
        """Return a list with None for each tensor of ours, and adapter and description for each guest."""
        return [None] * self.outputs if self.guests is None else self.guests

    def _to_guests(self, grad: Any) -> Any:
        """Convert gradients of guests, which come from another worker as arrays, to tensors of their framework."""
        assert self.guests is not None
        made = [
            each if guest is None or each is None or adapter_of(type(each)) is not None else guest[0].gradient(each, guest[1])
            for each, guest in zip([grad] if self.outputs == 1 else grad, self.guests)
        ]
        return made[0] if self.outputs == 1 else made

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple(
            edge[0].edge if edge is not None and type(edge[0]) is GuestOutput else edge or (None, 0) for edge in self.edges
        )

    def name(self) -> str:
        return "torch::distributed::autograd::SendRpcBackward"

    def set_grads(self, grads: Sequence[Tensor | None]) -> None:
        """Store received gradients of the sent tensors (PyTorch's interface)."""
        self._grads = list(grads)

    def get_grads(self) -> list[Tensor | None]:
        """Return the gradients stored by `set_grads`."""
        return list(self._grads)

    def apply(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Return the stored gradients; RuntimeError if `inputs` is not empty or a gradient is missing."""
        if len(inputs) != 0:
            raise RuntimeError(f"SendRpcBackward should receive no inputs, instead received {len(inputs)}")
        for place, grad in enumerate(self._grads):
            if grad is None:
                raise RuntimeError(f"BUG!: SendRpcBackward didn't receive valid gradients: number {place} is undefined")
        return [grad for grad in self._grads if grad is not None]


class RecvRpcBackward(Node):
    """The recv function below tensors that were received: an end of this worker's graph.

    Gradients that reach it are sent to `worker`, the rank that sent the tensors in the message `message_id`.
    """

    __slots__ = ("message_id", "metas", "outputs", "shown", "worker")
    outputs: int  # type: ignore[misc]
    shown: Any  # a weak reference to another framework's node, or None
    worker: int  # the rank that sent the tensors
    message_id: int  # identifies the send function on that worker
    metas: list[Any]  # shape, dtype, and device (None for the host) of each tensor; a guest's adapter and description

    def __init__(self, worker: int, message_id: int, tensors: Sequence[Tensor]) -> None:
        self.edges, self.hooks, self._sequence = (), None, next_sequence()
        self.worker, self.message_id, self.outputs = worker, message_id, len(tensors)
        self.shown = None
        self.metas = _attach(self, tensors)

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (grad,) if self.outputs == 1 else tuple(grad)  # only for tracing: the sink sends the gradients

    def name(self) -> str:
        return "torch::distributed::autograd::RecvRpcBackward"

    def complete(self, grad: Any, F: Any) -> list[Any]:
        """Return the gradients of all received tensors, with zeros for missing ones, as in PyTorch. `F` as in `Sink`."""
        grads = [grad] if self.outputs == 1 else [None] * self.outputs if grad is None else grad
        for place, value in enumerate(grads):
            if value is None:
                shape, kind, device, guest = self.metas[place]
                made = _zeros(shape, kind, device)
                grads[place] = made if F is RAW else wrap(made) if guest is None else guest[0].gradient(made, guest[1])
            elif F is RAW and type(value) is not ndarray:
                grads[place] = wire_array(value)
        return grads


def _attach(node: RecvRpcBackward, tensors: Sequence[Tensor]) -> list[Any]:
    """Make tensors the outputs of a node; returns what zero gradients for them need: shape, dtype, device, guest."""
    metas = []
    guests = False
    for nr, tensor in enumerate(tensors):
        tensor._grad_fn, tensor._nr, tensor._requires = node, nr, True
        array = tensor._array
        guest = None
        if type(tensor) is GuestTensor:
            guests, guest = True, (tensor.adapter, tensor.description)
        metas.append((array.shape, array.dtype, None if type(array) is ndarray else device_of(array), guest))
    if guests:
        node.shown = attach(tensors, node)
    return metas


def _zeros(shape: tuple[int, ...], kind: Any, place: Any) -> Any:
    if place is None:
        return zeros(shape, kind)
    with on_device(place):
        return module_for(place).zeros(shape, kind)


# -- paths ------------------------------------------------------------------------------------------
Place = int | list[tuple[int, int]]  # index of an end's gradient among the last node's; for several outputs pairs (index, output)


class Path:
    """The nodes from a start to the ends (leaves, recv functions) below it, if they form a single chain.

    A send function at the start is left out, as it only passes gradients on, unless it makes them tensors of another
    framework.
    """

    __slots__ = ("_last", "_steps", "ends")

    def __init__(self, steps: list[tuple[Node, int]], last: Node | None, ends: list[tuple[Node, Place]]) -> None:
        self._steps = steps  # each node except the last, and the index of the gradient that continues
        self._last = last  # None: gradients go directly to the ends
        self.ends = ends

    def nodes(self) -> list[Node]:
        """Return the nodes that run, in order, then the ends."""
        found = [node for node, _ in self._steps]
        if self._last is not None:
            found.append(self._last)
        found += [end for end, _ in self.ends]
        return found

    def run(self, F: Any, keep: bool, grads: list[Any], sink: Callable[[Node, Any, bool], None]) -> None:
        """Run the path with the list `grads`, which is emptied, and pass the results to `sink`.

        `F` is the namespace of the pass; `keep`: the graph will be used again, so that nodes must not be released.
        """
        if self._last is None:
            outs = grads
        else:
            grad = grads.pop()
            for node, step in self._steps:
                if grad is not None or node.runs_on_none:
                    grad = node.run(F, grad)[step]
                    if not keep:
                        node.release()
            outs = self._run_last(F, keep, grad)
            del grad
        for end, place in self.ends:
            if type(place) is int:
                out, outs[place] = outs[place], None  # so that `out` is the only reference, and the context may reuse its memory
            else:
                out = [None] * end.outputs
                for each, nr in place:  # type: ignore[union-attr]
                    out[nr] = outs[each]
            sink(end, out, sole(out))

    def _run_last(self, F: Any, keep: bool, grad: Any) -> list[Any]:
        last = self._last
        assert last is not None
        if grad is None and not last.runs_on_none:
            return [None] * len(last.edges)
        if keep:
            return list(last.run(F, grad))
        outs = list(last.run_last(F, grad) if last.uses_up else last.run(F, grad))
        last.release()
        return outs


def path_below(start: Node) -> Path | None:
    """Return the path below `start`; None if the graph there branches, joins, or has nothing to run."""
    node = start
    steps: list[tuple[Node, int]] = []
    if type(start) is SendRpcBackward:
        found = _ends(start)
        if found is not None:
            return Path(steps, None, found)
        if len(start.edges) != 1:
            return None
        node, nr = start.edges[0]  # type: ignore[misc]
        if nr or not node.edges:
            return None
        if start.guests is not None:
            steps.append((start, 0))
    if is_loaded():  # with GPUs the engine is needed, which sets the current device for each node
        return None
    while node.outputs == 1:
        found = _ends(node)
        if found is not None:
            return Path(steps, node, found)
        below = None
        for place, edge in enumerate(node.edges):
            if edge is not None:
                if below is not None:
                    return None
                below = edge[0]
                steps.append((node, place))
        if below is None:
            return None
        node = below
    return None


def _ends(node: Node) -> list[tuple[Node, Place]] | None:
    """Return the ends directly below a node, each output at most once; None if there are none or the graph goes on."""
    found: dict[Node, Place] = {}
    for place, edge in enumerate(node.edges):
        if edge is None:
            continue
        end, nr = edge
        if end.edges:
            return None
        if end.outputs == 1:
            if end in found:
                return None  # two gradients would have to be added
            found[end] = place
        else:
            places = found.setdefault(end, [])
            for _, other in places:  # type: ignore[union-attr]
                if nr == other:
                    return None
            places.append((place, nr))  # type: ignore[union-attr]
    return list(found.items()) or None


# -- parts ---------------------------------------------------------------------------
Entry = tuple[list[Node], list[Edge] | None]  # the nodes at which gradients enter, and the edges unless they are a node's outputs
_AT_ONCE = 256  # passes of one context that are remembered in `ran`


class Source:
    """Where gradients enter this worker's graph: a send function, or the roots of a pass.

    `inputs` gradients enter at `nodes`: along `edges` for roots; one for each output for a send function, which has a
    `message_id`.
    """

    __slots__ = (
        "_counts", "_edges", "_hooks", "_needs_task", "_user_code", "below", "foreign", "given", "guests", "inputs",
        "message_id", "nodes", "path", "ran", "reach_id",
    )  # fmt: skip

    def __init__(self, nodes: list[Node], inputs: int, edges: list[Edge] | None, message_id: int | None = None) -> None:
        self.given = nodes, edges  # with guests, which are replaced in `nodes` and `_edges`
        self.inputs, self.message_id = inputs, message_id
        self.guests = guests_of(nodes[0].edges if edges is None else edges)
        self.foreign: list[Any] = []  # nodes of other frameworks
        if self.guests:
            (found,), self.foreign = divide([self.guests])
            nodes, edges = replaced(nodes, edges, found)
        self.nodes, self._edges = nodes, edges
        self.path = path_below(nodes[0]) if inputs == 1 or message_id is not None else None
        self._counts = count_dependencies(self.nodes) if self.path is None else None
        self.below: Collection[Node] = self._counts if self.path is None else self.path.nodes()  # type: ignore[assignment]
        self._user_code = False  # without hooks, which may be added at any time
        self._needs_task = self.path is None  # whether it runs in a `GraphTask` even without hooks
        for node in self.below:
            if node.user_code:
                self._user_code = True
                self._needs_task = self._needs_task or type(node) is not Segment  # whose hooks are the framework's
        self._hooks = -1  # value of `Hooks.made` when none of these nodes had hooks: no check is needed until it changes
        self.ran: dict[int, None] = {}  # the last passes in which it ran as an independent source
        self.reach_id: int | None = None  # id of a completed reach phase from here; reusable, as the graph below never changes

    @property
    def counts(self) -> dict[Node, int]:
        """How many gradients each node below gets: a dict by node."""
        if self._counts is None:
            self._counts = count_dependencies(self.nodes)
        return self._counts

    def feed(self, task: GraphTask, grads: list[Any], entry: Entry | None = None) -> None:
        """Pass gradients to a task, and start it. They are removed from the list, so that the task may have the only references.

        `entry` replaces the source's nodes and edges, for guests that share nodes with other sources.
        """
        nodes, edges = (self.nodes, self._edges) if entry is None else entry
        if edges is None:
            edges = [(nodes[0], nr) for nr in range(self.inputs)]
        while grads:
            node, nr = edges[len(grads) - 1]
            task.feed(node, nr, grads.pop())
        for node in nodes:
            if task.dependencies[node] == 0:
                task.start(node)

    def recvs(self) -> list[RecvRpcBackward]:
        """Return the recv functions in the graph below."""
        return [node for node in self.below if type(node) is RecvRpcBackward]  # type: ignore[misc]

    def runs_user_code(self) -> bool:
        """Return whether user code would run below it now: custom functions or hooks."""
        return self._user_code or self._has_hooks()

    def needs_task(self) -> bool:
        """Return whether it has to run in a `GraphTask` now.

        It has to if there is no path below it, or user code that may ask for the task.
        """
        return self._needs_task or self._has_hooks()

    def _has_hooks(self) -> bool:
        made = Hooks.made
        if made != self._hooks:
            if self.nodes[0].hooks is not None:  # hooks of a send function, which a path leaves out
                return True
            for node in self.below:
                if node.hooks is not None:
                    return True
            self._hooks = made
        return False

    def shared(self) -> list[Node]:
        """Return the nodes below that independent sources must not share.

        Leaves are among them only if they have hooks, which must be called once, with the sum of the gradients.
        """
        found = []
        for node in self.below:
            kind = type(node)  # no edge leads to a send function
            if kind is GuestLeaf:
                if node.hooked():  # type: ignore[attr-defined]
                    found.append(node)
            elif kind is not SendRpcBackward and (kind is not AccumulateGrad or node.hooks is not None):
                found.append(node)
        return found + self.foreign if self.foreign else found


class Parts:
    """Which send functions of one context share nodes, and so form joined parts, on this worker.

    Updated lazily. Call its methods under the context's lock, unless they say otherwise.
    """

    __slots__ = ("_hooks", "_joined", "_lock", "_new", "_owner", "_sends", "_together", "_user_code", "sources")

    def __init__(
        self, sends: dict[int, SendRpcBackward], joined: dict[int, dict[Source, JoinedPart]], lock: Mutex
    ) -> None:
        self._sends, self._joined, self._lock = sends, joined, lock  # shared with the context
        self.sources: dict[int, Source] = {}
        self._new: deque[int] = deque()  # message ids of send functions that have not been traversed
        self._owner: dict[Node, int] = {}  # node -> message id of the first source that contains it
        self._together: dict[int, list[int]] = {}  # message id -> message ids of its joined part; independent sources are missing
        self._user_code = False  # whether user code runs below any send function
        self._hooks = Hooks.made  # value of `Hooks.made` at the last check

    def add(self, message_id: int) -> None:
        """Note a new send function of the context. Needs no lock."""
        self._new.append(message_id)

    def catch_up(self) -> None:
        """Call `update` if there are new send functions or hooks. Takes the lock itself."""
        if self._new or Hooks.made != self._hooks:
            self._lock.acquire()
            try:
                self.update()
            finally:
                self._lock.release()

    def runs_user_code(self) -> bool:
        """Return whether user code would run below any send function now. Takes the lock itself."""
        if self._new or Hooks.made != self._hooks:
            self.catch_up()
        return self._user_code

    def update(self) -> None:
        """Traverse the graphs below new send functions.

        If there are new hooks, check all sources again, as leaves with hooks join parts.
        """
        sources, hooks, new = self.sources, Hooks.made, self._new
        while new:  # only new ones: a context may have many send functions
            self._walk(new[0])
            new.popleft()
        if hooks != self._hooks:
            self._hooks = hooks
            for source in list(sources.values()):
                self._look_at(source)

    def _walk(self, message_id: int) -> None:
        if message_id not in self.sources:
            function = self._sends[message_id]
            source = self.sources[message_id] = Source([function], function.outputs, None, message_id)
            self._look_at(source)

    def _look_at(self, source: Source) -> None:
        """Join the parts of all sources that share nodes with this source."""
        if not self._user_code and source.runs_user_code():
            self._user_code = True
        message_id = source.message_id
        assert message_id is not None
        for node in source.shared():
            owner = self._owner.setdefault(node, message_id)
            if owner != message_id:
                self._unite(owner, message_id)

    def _unite(self, one: int, other: int) -> None:
        """Make one part of those to which these two sources belong."""
        large, small = self._together.get(one, [one]), self._together.get(other, [other])
        if large is small:
            return
        if len(large) < len(small):  # union by size
            large, small = small, large
        large.extend(small)
        for message_id in (*small, large[0]):  # `large[0]` has no entry yet if it was independent
            self._together[message_id] = large

    def joined_with(self, source: Source) -> list[Source]:
        """Return all sources of the part to which a source belongs."""
        message_id = source.message_id
        assert message_id is not None
        return [self.sources[each] for each in self._together.get(message_id, (message_id,))]

    def sharing_with(self, roots: Source) -> list[Source]:
        """Return the sources of all parts that share a node with the graph below a pass's roots."""
        owner = self._owner
        if not owner:
            return []
        found: dict[Source, None] = {}
        for node in roots.shared():
            if node in owner:
                found.update(dict.fromkeys(self.joined_with(self.sources[owner[node]])))
        return list(found)

    def claim_independent(self, source: Source, pass_id: int) -> bool:
        """Return whether gradients of a source can be passed on at once in this pass.

        Not if it belongs to a joined part, or the roots of the pass share nodes with it. If so, the source counts as run
        from now on: a part that it joins later does not wait for it. Takes the lock itself.
        """
        self._lock.acquire()
        try:
            joined = self._joined
            if source.message_id in self._together or joined and source in joined.get(pass_id, ()):
                return False
            source.ran[pass_id] = None
            if len(source.ran) > _AT_ONCE:
                del source.ran[next(iter(source.ran))]
            return True
        finally:
            self._lock.release()

    def source_for(self, message_id: int, grads: list[Any]) -> Source:
        """Return the source for the gradients of a message; RuntimeError if their number is wrong."""
        source = self.sources.get(message_id) or self.source(message_id)
        if len(grads) != source.inputs:
            raise RuntimeError(
                f"received {len(grads)} gradients for autograd message {message_id}, which had {source.inputs} "
                "tensors that require grad"
            )
        return source

    def source(self, message_id: int) -> Source:
        """Return the source for the send function with this message id; the graph below it is traversed on first use.

        RuntimeError if there is none.
        """
        found = self.sources.get(message_id)
        if found is None:
            if message_id not in self._sends:
                raise RuntimeError(f"Could not find send function for autograd message id: {message_id}")
            self._walk(message_id)
            found = self.sources[message_id]
        return found


def merged_counts(sources: Sequence[Source]) -> tuple[dict[Any, int], dict[Source, Entry]]:
    """Return how many gradients each node gets if exactly these sources get gradients.

    Also returns, for sources with guests, what replaces their nodes and edges: such sources may share nodes of the other
    framework.
    """
    guests = [each for each in sources if each.guests]
    if len(guests) < 2:
        return count_dependencies([node for source in sources for node in source.nodes]), {}
    edges, _ = divide([each.guests for each in guests])
    entries = {each: replaced(*each.given, found) for each, found in zip(guests, edges)}
    nodes = [node for each in sources for node in (entries[each][0] if each in entries else each.nodes)]
    return count_dependencies(nodes), entries


def replaced(nodes: list[Node], edges: list[Edge] | None, found: Sequence[Edge]) -> Entry:
    """Return the nodes and edges of a source with the edges `found` instead of those to its guests."""
    rest = iter(found)
    if edges is None:  # a send function: a copy of it, as others may divide the graph in another way
        return [cast(SendRpcBackward, nodes[0]).with_edges(
            [next(rest) if edge is not None and type(edge[0]) is GuestOutput else edge for edge in nodes[0].edges]
        )], None  # fmt: skip
    edges = [next(rest) if type(edge[0]) is GuestOutput else edge for edge in edges]
    return list(dict.fromkeys([edge[0] for edge in edges])), edges
