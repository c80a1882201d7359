"""Graphs of other frameworks as parts of a distributed graph.

A *guest* is a tensor of another framework, such as torch, or a node that stands for one here. Its *adapter* (`mpigrad.interop`)
connects it with the framework.

What a framework has recorded between tensors that were received and tensors that are sent is one node here, a `Segment`, which
lets the framework run the whole of it at once. Its edges lead to recv functions and to leaves, `GuestLeaf`. A tensor that was
sent, or a root, is a `GuestOutput` until the graph below it is needed; `divide` then replaces it by an edge to its segment.

Sources (`graph.py`: send functions, roots) that share nodes of a framework, as when a tensor is sent and also used here, cannot
always wait for each other: the gradient of the one may depend on what the other sends. `divide` therefore finds out which set of
sources is above each recv function, and makes one segment for each set: it runs the graph from the outputs of these sources to
these recv functions, as soon as all of these outputs have their gradients. One more segment, for all sources, brings the
gradients of leaves, last. So every node that runs has its whole gradient, and nothing waits in a circle; nodes that lead to
several recv functions may run more than once.

Hooks of leaves are deferred (`quiet`) until all gradients of the leaf in this part are added up.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from mpigrad._graph.namespace import RAW
from mpigrad.interop._adapters import ForeignEdge, Received, TensorAdapter, adapter_of

from ..engine import framework_below
from ..node import Converted, Edge, Node, edge_of, next_sequence
from ..tensor import GuestTensor
from ..tensor import guest as stand_in


class GuestLeaf(Node):
    """A leaf of another framework, `variable`: its gradients are added up in the context."""

    __slots__ = ("adapter", "variable")
    adapter: TensorAdapter
    variable: Any

    def __init__(self, adapter: TensorAdapter, variable: Any) -> None:
        self.edges, self.hooks, self._sequence = (), None, next_sequence()
        self.adapter, self.variable = adapter, variable

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(f"a local backward pass cannot add up gradients of a tensor of {self.adapter.name}")

    def hooked(self) -> bool:
        """Return whether the leaf has hooks, which must get the sum of its gradients."""
        return self.adapter.has_hooks(self.variable)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


class GuestOutput(Node):
    """Stands for the framework's node of a tensor that was sent, or is a root.

    `divide` replaces it by a segment when the graph below it is needed.
    """

    __slots__ = ("adapter", "edge", "tensor")
    adapter: TensorAdapter
    edge: ForeignEdge
    tensor: Callable[[], Any]  # weak if possible: sending a tensor does not keep its memory

    def __init__(self, adapter: TensorAdapter, tensor: Any, edge: ForeignEdge) -> None:
        self.edges, self.hooks, self._sequence = (), None, next_sequence()
        self.adapter, self.edge, self.tensor = adapter, edge, _reference(tensor)


def _reference(tensor: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(tensor)
    except TypeError:  # a class of a framework without weak references
        return lambda: tensor


class _Table:
    """Nodes by key, as long as other objects refer to them: a `WeakValueDictionary` without iteration, at half its cost."""

    def __init__(self) -> None:
        self._references: dict[Any, weakref.KeyedRef[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self._references)

    def get(self, key: Any) -> Any:
        found = self._references.get(key)
        return None if found is None else found()

    def add(self, key: Any, node: Node) -> None:
        self._references[key] = weakref.KeyedRef(node, self._forget, key)

    def _forget(self, ended: weakref.KeyedRef[Any, Any]) -> None:
        if self._references.get(ended.key) is ended:  # otherwise the key has another node by now
            del self._references[ended.key]


# One object for each leaf and output, so that sources that share one see that they do. The nodes keep what the keys are ids of.
_leaves, _outputs = _Table(), _Table()
_making = threading.RLock()  # one thread makes an object, the others find it; re-entrant: finalizers may run meanwhile


def leaf_of(adapter: TensorAdapter, variable: Any) -> GuestLeaf:
    """Return the node of a leaf of another framework, always the same one."""
    with _making:
        found: GuestLeaf | None = _leaves.get(id(variable))
        if found is None:
            found = GuestLeaf(adapter, variable)
            _leaves.add(id(variable), found)
        return found


def edge_of_guest(adapter: TensorAdapter, tensor: Any) -> Edge:
    """Return the edge, in mpigrad's graph, of another framework's tensor that requires grad."""
    edge = adapter.edge_of(tensor)
    if edge is None:
        return leaf_of(adapter, tensor), 0
    if isinstance(edge[0], Node):
        return edge
    with _making:
        key = id(edge[0]), edge[1]
        found = _outputs.get(key)
        if found is None:
            found = GuestOutput(adapter, tensor, edge)
            _outputs.add(key, found)
        return found, 0


def in_framework(tensor: Any) -> Any:
    """Return a root, or a tensor that is sent: if its graph leads to converted tensors, its stand-in as one of their framework.

    The framework then runs this graph as a part of its own, so that nodes of it that are used twice still run once.
    """
    if not Converted.used or type(tensor) is GuestTensor or not tensor._requires:
        return tensor
    edge = edge_of(tensor)
    adapter = None if edge is None else framework_below([edge[0]])
    if adapter is None:
        return tensor
    made = adapter.from_ours(tensor)
    return stand_in(adapter, made, None, adapter.describe(made), True)


def attach(tensors: Sequence[Any], node: Node) -> Any:
    """Make the guests among received tensors outputs of a recv function, in their frameworks' graphs.

    Returns a weak reference to the framework's node if all tensors are guests of one framework, otherwise None.
    """
    shown = None
    by_adapter: dict[TensorAdapter, list[int]] = {}
    for nr, tensor in enumerate(tensors):
        if type(tensor) is GuestTensor:
            by_adapter.setdefault(tensor.adapter, []).append(nr)
    for adapter, places in by_adapter.items():
        made = adapter.attach([tensors[nr].tensor for nr in places], node, places)
        if made is not None and len(places) == len(tensors):
            shown = weakref.ref(made)
    return shown


def wire_array(value: Any) -> Any:
    """Return a gradient as the array that is sent; the adapter converts one of another framework."""
    adapter = adapter_of(type(value))
    return value if adapter is None else adapter.array_of(value)


class Segment(Node):
    """A part of another framework's graph, run at once: from its entries, where gradients come in, to its exits."""

    __slots__ = ("adapter", "entries", "exits", "frees", "leaves", "outputs")
    outputs: int  # type: ignore[misc]
    user_code = True  # hooks and functions of users cannot be seen from here
    uses_up = True  # after `run_last` it cannot run again: the framework has freed what its nodes saved

    def __init__(self, adapter: TensorAdapter) -> None:
        self.edges, self.hooks, self._sequence = (), None, next_sequence()
        self.adapter, self.outputs = adapter, 0
        self.entries: dict[ForeignEdge, int] = {}  # where gradients come in
        self.exits: dict[ForeignEdge, Edge] = {}  # where they leave, and where they continue in our graph
        self.leaves: tuple[GuestLeaf, ...] = ()  # among the exits
        self.frees = True  # whether it runs last, so that what the framework has saved may be freed

    def enter(self, edge: ForeignEdge) -> Edge:
        """Return the edge of our graph by which gradients enter the segment at the framework's `edge`; added on first use."""
        place = self.entries.setdefault(edge, len(self.entries))
        self.outputs = len(self.entries)
        return self, place

    def seal(self) -> None:
        """Set the edges of the node, when all exits are known."""
        self.edges = tuple(self.exits.values())
        self.leaves = tuple([end for end, _ in self.exits.values() if type(end) is GuestLeaf])

    def precede(self, last: Segment) -> None:
        """Add an edge without a gradient to the segment `last`, so that the engine runs that one later."""
        self.edges = (*self.edges, last.enter((None, len(last.entries))))  # a name only: no node, no reference back

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return self._run(F, grad, True)

    def run_last(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return self._run(F, grad, not self.frees)

    def _run(self, F: Any, grad: Any, keep: bool) -> tuple[Any, ...]:
        grads = [grad] if self.outputs == 1 else grad
        quiet = [leaf.variable for leaf in self.leaves if leaf.hooked()]
        found = self.adapter.run(list(self.entries), grads, list(self.exits), keep, F is not RAW, quiet)
        # The additional edge is that of `precede`.
        return tuple(found) if len(self.exits) == len(self.edges) else (*found, None)

    def name(self) -> str:
        return f"{self.adapter.name}::Segment"


class Fan(Node):
    """A node that passes the gradient of one output on to several segments, unchanged."""

    __slots__ = ()

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges, self.hooks, self._sequence = tuple(edges), None, next_sequence()

    def run(self, F: Any, grad: Any) -> tuple[Any, ...]:
        return (grad,) * len(self.edges)


# -- dividing a graph --------------------------------------------------------------------------------------------------
def guests_of(edges: Sequence[Edge | None]) -> list[GuestOutput]:
    """Return the guests (`GuestOutput`) to which edges lead."""
    return [edge[0] for edge in edges if edge is not None and type(edge[0]) is GuestOutput]  # type: ignore[misc]


class Division:
    """The segments below the guests of some sources, all of one framework.

    `sources` has the guests of each source. `edges` has the same structure, with the edge that replaces each guest.
    """

    __slots__ = ("_ends", "adapter", "edges", "nodes")

    def __init__(self, adapter: TensorAdapter, sources: Sequence[Sequence[GuestOutput]]) -> None:
        self.adapter = adapter
        self.nodes: dict[Any, None] = {}  # the framework's nodes
        self._ends: dict[Any, Any] = {}
        above: dict[ForeignEdge, int] = {}  # ends -> set of the sources above them, as bits
        for place, guests in enumerate(sources):
            graph = adapter.graph_of([guest.edge[0] for guest in guests])
            self._ends.update(graph.ends)
            self.nodes.update(dict.fromkeys(graph.below))
            bit, ends = 1 << place, graph.ends
            for edges in graph.below.values():
                for edge in edges:
                    if edge is not None and edge[0] in ends:
                        above[edge] = above.get(edge, 0) | bit
            for guest in guests:
                if guest.edge[0] in ends and not self._goes_straight(guest):
                    above[guest.edge] = above.get(guest.edge, 0) | bit
        segments = self._segments(above, (1 << len(sources)) - 1)
        self.edges = [
            [self._edge(guest, [segment for bits, segment in segments if bits >> place & 1]) for guest in guests]
            for place, guests in enumerate(sources)
        ]

    def _segments(self, above: dict[ForeignEdge, int], everyone: int) -> list[tuple[int, Segment]]:
        """Make one segment for each set of sources; returns pairs of the set, as bits, and the segment.

        `above` has, for each end of the graph, the set of the sources above it; `everyone` is the set of all sources.
        """
        found: dict[int, Segment] = {}
        for edge, bits in above.items():
            target = self._target(edge)
            if type(target[0]) is GuestLeaf:  # nothing waits for the gradient of a leaf, so it may come last, and whole
                bits = everyone
            segment = found.get(bits)
            if segment is None:
                segment = found[bits] = Segment(self.adapter)
                segment.frees = bits == everyone
            segment.exits[edge] = target
        for segment in found.values():
            segment.seal()
        last = found.get(everyone)
        if last is not None:
            for segment in found.values():
                if segment is not last:
                    segment.precede(last)
        return list(found.items())

    def _goes_straight(self, guest: GuestOutput) -> bool:
        """Return whether a guest is a received tensor that was sent on, without hooks that the framework would have to call."""
        tensor = guest.tensor()
        return guest.edge[0] in self._ends and (tensor is None or not self.adapter.has_hooks(tensor))

    def _edge(self, guest: GuestOutput, segments: list[Segment]) -> Edge:
        """Return the edge that replaces a guest: its gradient enters all these segments, which it is above."""
        if self._goes_straight(guest):
            return self._target(guest.edge)
        found = [segment.enter(guest.edge) for segment in segments]
        return found[0] if len(found) == 1 else (Fan(found), 0)

    def _target(self, edge: ForeignEdge) -> Edge:
        """Return the edge of our graph for an end of the framework's: a recv function or a leaf."""
        end = self._ends[edge[0]]
        return (end.node, end.places[edge[1]]) if isinstance(end, Received) else (leaf_of(self.adapter, end), 0)


def divide(sources: Sequence[Sequence[GuestOutput]]) -> tuple[list[list[Edge]], list[Any]]:
    """Divide the frameworks' graphs below the guests of some sources into segments.

    Returns, for each source, the edges that replace its guests, in order; and all nodes of other frameworks below them.
    """
    adapters = list(dict.fromkeys([guest.adapter for guests in sources for guest in guests]))
    if len(adapters) == 1:
        only = Division(adapters[0], sources)
        return only.edges, list(only.nodes)
    edges: list[dict[GuestOutput, Edge]] = [{} for _ in sources]
    nodes: list[Any] = []
    for adapter in adapters:
        mine = [[guest for guest in guests if guest.adapter is adapter] for guests in sources]
        division = Division(adapter, mine)
        nodes += division.nodes
        for place, guests in enumerate(mine):
            edges[place].update(zip(guests, division.edges[place]))
    return [[found[guest] for guest in guests] for found, guests in zip(edges, sources)], nodes
