"""One worker's part of a distributed graph: its ends, and which parts of it a pass can run on their own.

`SendRpcBackward` and `RecvRpcBackward` are the two ends of a tensor's journey; each one's gradient is the other's
message. A send function sits where tensors left this worker: gradients come back to it in a message and go on along its
edges. A recv function sits where tensors arrived: the gradients that reach it leave in a message to the matching send
function. Both are found by the autograd message id of the message that carried the tensors.

`Path`: below the roots or a send function there is often no more than one path: a loss made from the result of a call,
a function that combines what it was given, leaves that were sent as they are. It runs node by node, without the
engine's queue and counts. The last node may reach several ends, and several outputs of the recv functions among them.

`Source` and `Parts`: below a send function hangs the graph of what was sent. Most such graphs have no node in common
with another's but leaves, where gradients may be added in any order: such a send function is *independent*, and its
gradients can be passed on the moment they arrive. Send functions that do share a node form a *joined* part with several
sources: there each node must know how many gradients the pass at hand will bring, which only the reach phase can tell
(see `_core/autograd/passes.py`).

Invariants
- The graph below a send function never changes after the send, so each is walked once.
- Nothing here refers back to the context, so that all of it is freed with the context, without waiting for Python's
  search for cycles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray, zeros

from mpigrad._array.device import device_of, is_loaded, module_for, on_device
from mpigrad._graph.namespace import RAW
from mpigrad._tensor import Tensor

from ..engine import GraphTask, count_dependencies
from ..node import AccumulateGrad, Edge, Hooks, Node, edge_of
from ..objects import Mutex, sole
from ..tensor import wrap

if TYPE_CHECKING:
    from .passes import JoinedPart


# -- the two ends of a tensor's journey --------------------------------------------------------------------------------
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


# -- a graph that is one path ------------------------------------------------------------------------------------------
Place = int | list[tuple[int, int]]  # of an end's gradient among the last node's; for several outputs (place, output)


class Path:
    """The nodes from a start to the ends below it. A send function at the start only hands gradients on, and is left out."""

    __slots__ = ("_last", "_steps", "ends")

    def __init__(self, steps: list[tuple[Node, int]], last: Node | None, ends: list[tuple[Node, Place]]) -> None:
        self._steps = steps  # each node but the last, and which of its gradients goes on
        self._last = last  # None: gradients enter at the ends
        self.ends = ends

    def nodes(self) -> list[Node]:
        """The nodes that run, then the ends."""
        found = [node for node, _ in self._steps]
        if self._last is not None:
            found.append(self._last)
        found += [end for end, _ in self.ends]
        return found

    def run(self, F: Any, keep: bool, grads: list[Any], sink: Callable[[Node, Any, bool], None]) -> None:
        """Bring what comes out of the path to `sink` when `grads`, which are used up, enter at its start."""
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
                out, outs[place] = outs[place], None  # it has no other holder then, and the context may keep it
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
        outs = list(last.run(F, grad))
        if not keep:
            last.release()
        return outs


def path_below(start: Node) -> Path | None:
    """The path that begins at `start`; None if the graph forks, joins or has nothing to run."""
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
    if is_loaded():  # with GPUs the engine sees to it that nodes run where their gradients are
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
    """The ends that a node's gradients go to, each output at most once; None if there are none or the graph goes on."""
    found: dict[Node, Place] = {}
    for place, edge in enumerate(node.edges):
        if edge is None:
            continue
        end, nr = edge
        if end.edges:
            return None
        if end.outputs == 1:
            if end in found:
                return None  # gradients that meet
            found[end] = place
        else:
            places = found.setdefault(end, [])
            for _, other in places:  # type: ignore[union-attr]
                if nr == other:
                    return None
            places.append((place, nr))  # type: ignore[union-attr]
    return list(found.items()) or None


# -- parts: which send functions share nodes ---------------------------------------------------------------------------
_AT_ONCE = 256  # passes that may run in one context at the same time


class Source:
    """Where gradients enter this worker's graph in a pass: a send function, or the pass's own roots.

    `inputs` gradients enter at `nodes`: along `edges` for roots, one for each output for a send function, which has a message id.
    """

    __slots__ = ("_counts", "_edges", "_hooks", "_user_code", "below", "inputs", "message_id", "nodes", "path", "ran", "reach_id")

    def __init__(self, nodes: list[Node], inputs: int, edges: list[Edge] | None, message_id: int | None = None) -> None:
        self.nodes, self.inputs, self.message_id = nodes, inputs, message_id
        self._edges = edges
        self.path = path_below(nodes[0]) if inputs == 1 or message_id is not None else None
        self._counts = count_dependencies(self.nodes) if self.path is None else None
        self.below: Collection[Node] = self._counts if self.path is None else self.path.nodes()  # type: ignore[assignment]
        self._user_code = False  # without hooks, which may come at any time
        for node in self.below:
            if node.user_code:
                self._user_code = True
        self._hooks = -1  # how many nodes of the process had hooks when none of these had
        self.ran: dict[int, None] = {}  # the last passes in which it ran on its own
        self.reach_id: int | None = None  # of a reach phase from here that is over: what is below never changes

    @property
    def counts(self) -> dict[Node, int]:
        """How many gradients each node below gets from those above it."""
        if self._counts is None:
            self._counts = count_dependencies(self.nodes)
        return self._counts

    def feed(self, task: GraphTask, grads: list[Any]) -> None:
        """Give gradients to a task. They are taken out of the list: the context may keep one that has no other holder."""
        edges = self._edges
        if edges is None:
            edges = [(self.nodes[0], nr) for nr in range(self.inputs)]
        while grads:
            node, nr = edges[len(grads) - 1]
            task.feed(node, nr, grads.pop())
        for node in self.nodes:
            if task.dependencies[node] == 0:
                task.ready.append(node)

    def recvs(self) -> list[RecvRpcBackward]:
        """The recv functions below."""
        return [node for node in self.below if type(node) is RecvRpcBackward]  # type: ignore[misc]

    def runs_user_code(self) -> bool:
        """Whether functions of the user's run below it, now."""
        made = Hooks.made
        if not self._user_code and made != self._hooks:
            if self.nodes[0].hooks is not None:  # of a send function, which a path leaves out
                return True
            for node in self.below:
                if node.hooks is not None:
                    return True
            self._hooks = made
        return self._user_code

    def shared(self) -> list[Node]:
        """The nodes at which gradients of several sources must meet: hooks of leaves are called once, with the sum."""
        found = []
        for node in self.below:
            kind = type(node)  # nothing leads to a send function
            if kind is not SendRpcBackward and (kind is not AccumulateGrad or node.hooks is not None):
                found.append(node)
        return found


class Parts:
    """The parts of one context on this worker, kept up to date with its send functions. Call with the context's lock."""

    __slots__ = ("_hooks", "_joined", "_lock", "_new", "_owner", "_sends", "_together", "_user_code", "sources")

    def __init__(
        self, sends: dict[int, SendRpcBackward], joined: dict[int, dict[Source, JoinedPart]], lock: Mutex
    ) -> None:
        self._sends, self._joined, self._lock = sends, joined, lock  # the context's
        self.sources: dict[int, Source] = {}
        self._new: deque[int] = deque()  # ids of messages whose send functions have not been walked yet
        self._owner: dict[Node, int] = {}  # the first source that has a node, by the id of its message
        self._together: dict[int, list[int]] = {}  # id of a source -> those of its part; not of independent ones
        self._user_code = False  # whether the graph below any send function runs functions of the user's
        self._hooks = Hooks.made  # how many nodes of the process had hooks when that was looked up

    def add(self, message_id: int) -> None:
        """Note a new send function, which is among the context's already. Needs no lock."""
        self._new.append(message_id)

    def catch_up(self) -> None:
        """Walk new send functions and look for new hooks, if there are any: without the lock that `update` wants."""
        if self._new or Hooks.made != self._hooks:
            self._lock.acquire()
            try:
                self.update()
            finally:
                self._lock.release()

    def runs_user_code(self) -> bool:
        """Whether functions of the user's run below any send function, now."""
        if self._new or Hooks.made != self._hooks:
            self.catch_up()
        return self._user_code

    def update(self) -> None:
        """Walk the send functions that were made since the last time; leaves that have got hooks join parts."""
        sources, hooks, new = self.sources, Hooks.made, self._new
        while new:  # a context may have many send functions: the walked ones are not looked at again
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
        """Put a source together with all that share nodes with it."""
        if not self._user_code and source.runs_user_code():
            self._user_code = True
        message_id = source.message_id
        assert message_id is not None
        for node in source.shared():
            owner = self._owner.setdefault(node, message_id)
            if owner != message_id:
                self._unite(owner, message_id)

    def _unite(self, one: int, other: int) -> None:
        large, small = self._together.get(one, [one]), self._together.get(other, [other])
        if large is small:
            return
        if len(large) < len(small):
            large, small = small, large
        large.extend(small)
        for message_id in (*small, large[0]):
            self._together[message_id] = large

    def joined_with(self, source: Source) -> list[Source]:
        """The sources of the part that a source belongs to."""
        message_id = source.message_id
        assert message_id is not None
        return [self.sources[each] for each in self._together.get(message_id, (message_id,))]

    def sharing_with(self, roots: Source) -> list[Source]:
        """The sources of the parts that share a node with the graph below a pass's roots."""
        owner = self._owner
        if not owner:
            return []
        found: dict[Source, None] = {}
        for node in roots.below:
            if node in owner and (type(node) is not AccumulateGrad or node.hooks is not None):
                found.update(dict.fromkeys(self.joined_with(self.sources[owner[node]])))
        return list(found)

    def claim_independent(self, source: Source, pass_id: int) -> bool:
        """Whether gradients of a source can be passed on at once in this pass, whose own roots may share nodes with it.

        If so, the source counts as run from now on: parts that it is joined to later do not wait for it.
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
        """The source that gradients came for; raises if they cannot be its own."""
        source = self.sources.get(message_id) or self.source(message_id)
        if len(grads) != source.inputs:
            raise RuntimeError(
                f"{len(grads)} gradients came for autograd message {message_id}, which had carried {source.inputs} "
                "tensors that need them"
            )
        return source

    def source(self, message_id: int) -> Source:
        """The source of one send function."""
        found = self.sources.get(message_id)
        if found is None:
            if message_id not in self._sends:
                raise RuntimeError(f"Could not find send function for autograd message id: {message_id}")
            self._walk(message_id)
            found = self.sources[message_id]
        return found


def merged_counts(sources: Iterable[Source]) -> dict[Any, int]:
    """How many gradients each node gets when exactly these sources bring some."""
    return count_dependencies([node for source in sources for node in source.nodes])
