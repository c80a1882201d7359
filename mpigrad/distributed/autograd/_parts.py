"""Parts of a worker's graph: which send functions share nodes, and so must wait for each other in a pass.

Below a send function hangs the graph of what was sent. Most such graphs have no node in common with another's but
leaves, where gradients may be added in any order: such a send function is *lone*, and its gradients can be passed on
the moment they arrive. Send functions that do share a node form a part with several sources: there each node must
know how many gradients the pass at hand will bring, which only the reach phase can tell (see `_reach.py`).

The graph below a send function never changes after the send, so each is walked once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..._graph.engine import count_dependencies
from ..._graph.node import AccumulateGrad, Hooks, Node
from ._functions import RecvRpcBackward, SendRpcBackward
from ._path import path_below

if TYPE_CHECKING:
    from ._context import DistAutogradContext
    from ._pass import Pass

_AT_ONCE = 256  # passes that may run in one context at the same time


class Source:
    """Where gradients enter this worker's graph in a pass: a send function, or the pass's own roots."""

    __slots__ = ("_user_code", "counts", "ends", "message_id", "nodes", "outputs", "part", "path", "ran", "recvs")

    def __init__(self, nodes: list[Node], message_id: int | None = None) -> None:
        self.nodes, self.message_id = nodes, message_id
        self.outputs = nodes[0].outputs
        self.counts = count_dependencies(nodes)
        self.recvs: list[RecvRpcBackward] = []
        self._user_code = False  # without hooks, which may come at any time
        for node in self.counts:
            if node.__class__ is RecvRpcBackward:
                self.recvs.append(node)
            elif node.user_code:
                self._user_code = True
        self.ends = None if message_id is None else _ends(nodes[0], self.counts)
        self.path = path_below(nodes[0]) if len(nodes) == 1 and self.ends is None else None
        self.ran: dict[int, None] = {}  # the last passes in which it ran on its own
        self.part: Part

    def runs_user_code(self) -> bool:
        """Whether functions of the user's run below it, now."""
        if self._user_code:
            return True
        for node in self.counts:
            if node.hooks is not None:
                return True
        return False

    def unwatched(self) -> bool:
        """Whether its ends have no hooks."""
        for node in self.ends or ():
            if node.hooks is not None:
                return False
        return True

    def shared(self) -> Iterable[Node]:
        """The nodes at which gradients of several sources must meet: hooks of leaves are called once, with the sum."""
        return [node for node in self.counts if node.__class__ is not AccumulateGrad or node.hooks is not None]


def _ends(function: Node, counts: dict[Node, int]) -> list[Node] | None:
    """The nodes to which a send function's gradients go, one each, if the graph ends there: most sends are of leaves."""
    ends = []
    for edge in function.edges:
        if edge is None:
            return None
        node = edge[0]
        if node.edges or node.outputs != 1 or counts[node] != 1:
            return None
        ends.append(node)
    return ends


class Part:
    """Sources that share nodes. With one source it is lone."""

    __slots__ = ("sources",)

    def __init__(self) -> None:
        self.sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Take a source in."""
        self.sources.append(source)
        source.part = self


class Parts:
    """The parts of one context on this worker, kept up to date with its send functions. Call with the context's lock."""

    __slots__ = ("_context", "_hooks", "_owner", "_user_code", "sources")

    def __init__(self, context: DistAutogradContext) -> None:
        self._context = context
        self._owner: dict[Node, Part] = {}
        self.sources: dict[int, Source] = {}
        self._user_code = False  # whether the graph below any send function runs functions of the user's
        self._hooks = 0  # how many nodes of the process had hooks when that was looked up

    def catch_up(self) -> None:
        """Walk new send functions and look for new hooks, if there are any: without the lock that `update` wants."""
        if len(self._context.sends) != len(self.sources) or Hooks.made != self._hooks:
            with self._context.lock:
                self.update()

    def runs_user_code(self) -> bool:
        """Whether functions of the user's run below any send function, now."""
        self.catch_up()
        return self._user_code

    def update(self) -> None:
        """Walk the send functions that were made since the last time; leaves that have got hooks join parts."""
        sends, hooks = self._context.sends, Hooks.made
        if len(sends) != len(self.sources):
            for message_id, function in list(sends.items()):
                if message_id not in self.sources:
                    self.sources[message_id] = self._walk(function, message_id)
        if hooks != self._hooks:
            self._hooks = hooks
            for source in list(self.sources.values()):
                self._join(source)
                self._user_code = self._user_code or source.runs_user_code()

    def _walk(self, function: SendRpcBackward, message_id: int) -> Source:
        source = Source([function], message_id)
        self._user_code = self._user_code or source.runs_user_code()
        Part().add(source)
        self._join(source)
        return source

    def _join(self, source: Source) -> None:
        """Make one part of a source and all that share nodes with it."""
        owner, part = self._owner, source.part
        for node in source.shared():
            other = owner.get(node)
            if other is None:
                owner[node] = part
            elif other is not part:
                part = self._merge(part, other)
                owner[node] = part

    def _merge(self, one: Part, other: Part) -> Part:
        """Make two parts one; nodes of the smaller find their part through its sources."""
        small, large = (one, other) if len(one.sources) < len(other.sources) else (other, one)
        for source in small.sources:
            large.add(source)
            for node in source.shared():
                if self._owner.get(node) is small:  # a third part's nodes are still to be met
                    self._owner[node] = large
        return large

    def meeting(self, roots: Source) -> list[Part]:
        """The parts that share a node with the graph below a pass's roots."""
        found: dict[int, Part] = {}
        owned = self._owner.get
        for node in roots.counts:
            part = owned(node)
            if part is not None and (node.__class__ is not AccumulateGrad or node.hooks is not None):
                found[id(part)] = part
        return list(found.values())

    def runs_alone(self, source: Source, one: Pass) -> bool:
        """Whether gradients of a source can be passed on at once in this pass, whose own roots may meet it.

        If so, the source counts as run from now on: parts that others join it to later do not wait for it.
        """
        with self._context.lock:
            if len(source.part.sources) != 1 or source in self._context.held.get(one.code, ()):
                return False
            source.ran[one.code] = None
            if len(source.ran) > _AT_ONCE:
                del source.ran[next(iter(source.ran))]
            return True

    def source_for(self, message_id: int, grads: list[Any]) -> Source:
        """The source that gradients came for; raises if they cannot be its own."""
        source = self.sources.get(message_id) or self.source(message_id)
        if len(grads) != source.outputs:
            raise RuntimeError(
                f"{len(grads)} gradients came for autograd message {message_id}, which had carried {source.outputs} "
                "tensors that need them"
            )
        return source

    def source(self, message_id: int) -> Source:
        """The source of one send function."""
        found = self.sources.get(message_id)
        if found is None:
            self._context.retrieve_send_function(message_id)
            self.update()
            found = self.sources[message_id]
        return found


def merged_counts(sources: Iterable[Source]) -> dict[Any, int]:
    """How many gradients each node gets when exactly these sources bring some."""
    nodes = [node for source in sources for node in source.nodes]
    return count_dependencies(nodes)
