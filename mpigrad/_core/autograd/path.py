"""A graph that is one path: run node by node, without the engine's queue and counts.

Below the roots or a send function there is often no more than that: a loss made from the result of a call, a function that
combines what it was given, leaves that were sent as they are. The last node may reach several ends, and several outputs of
the recv functions among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpigrad._array.device import is_loaded
from mpigrad._core.node import Node
from mpigrad._core.objects import sole

from .nodes import SendRpcBackward

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
