"""A graph that is one path: run node by node, without the engine's queue and counts.

Below the roots or a send function there is often no more than that: a loss made from the result of a call, a function that
combines what it was given. The last node may reach several outputs of the recv function where the path ends.
"""

from __future__ import annotations

from typing import Any

from ..._device import is_loaded
from ..._graph.node import Node


class Path:
    """The nodes from a start to the only end below it."""

    __slots__ = ("_nodes", "_places", "_steps", "end")

    def __init__(self, nodes: list[Node], steps: list[int], places: list[tuple[int, int]], end: Node) -> None:
        self._nodes = nodes
        self._steps = steps  # for each node but the last, which of its gradients goes on
        self._places = places  # (gradient of the last node, output of the end it belongs to)
        self.end = end

    def run(self, F: Any, keep: bool, grad: Any) -> Any:
        """What arrives at the end when `grad` enters at the start."""
        nodes = self._nodes
        for node, step in zip(nodes, self._steps):
            if grad is None and not node.runs_on_none:
                return None
            grad = node.run(F, grad)[step]
            if not keep:
                node.release()
        last = nodes[-1]
        if grad is None and not last.runs_on_none:
            return None
        outs = last.run(F, grad)
        if not keep:
            last.release()
        if self.end.outputs == 1:
            return outs[self._places[0][0]]
        made: list[Any] = [None] * self.end.outputs
        for place, nr in self._places:
            made[nr] = outs[place]
        return made


def path_below(start: Node) -> Path | None:
    """The path that begins at `start`; None if the graph forks, joins or has nothing to run."""
    if start.outputs != 1 or is_loaded():  # with GPUs the engine sees to it that nodes run where their gradients are
        return None
    nodes: list[Node] = []
    steps: list[int] = []
    node = start
    while True:
        nodes.append(node)
        places = [(place, edge) for place, edge in enumerate(node.edges) if edge is not None]
        if not places:
            return None
        below = places[0][1][0]
        if not below.edges:
            return _ending(nodes, steps, places, below)
        if len(places) != 1 or below.outputs != 1:
            return None
        steps.append(places[0][0])
        node = below


def _ending(nodes: list[Node], steps: list[int], places: list[Any], end: Node) -> Path | None:
    found = {edge[1]: place for place, edge in places if edge[0] is end}
    if len(found) != len(places):  # another end, or gradients that meet at one output
        return None
    return Path(nodes, steps, [(place, nr) for nr, place in found.items()], end)
