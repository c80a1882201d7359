"""Parts of a worker's graph: which send functions share nodes, and so must wait for each other in a pass.

Below a send function hangs the graph of what was sent. Most such graphs have no node in common with another's but
leaves, where gradients may be added in any order: such a send function is *independent*, and its gradients can be passed
on the moment they arrive. Send functions that do share a node form a *joined* part with several sources: there each node
must know how many gradients the pass at hand will bring, which only the reach phase can tell (see `_core/autograd/reach.py`).

The graph below a send function never changes after the send, so each is walked once. Nothing here refers back to the
context, so that all of it is freed with the context, without waiting for Python's search for cycles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from mpigrad._core.engine import GraphTask, count_dependencies
from mpigrad._core.mutex import Mutex
from mpigrad._core.node import AccumulateGrad, Edge, Hooks, Node

from .nodes import RecvRpcBackward, SendRpcBackward
from .path import path_below

if TYPE_CHECKING:
    from .joined import JoinedPart

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
