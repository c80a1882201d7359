"""Watching operations and nodes: profilers and anomaly detection register here; `TRACING.on` says whether any did.

A watcher is an object with `operator(name, inputs)` and `node(node)`, each giving a context manager that surrounds the
work, `recorded(node)`, called for each node when its operation is recorded, and `ran(node, results, F)` after it ran.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Protocol

from .grad_mode import TRACING, detour_lock


class Watcher(Protocol):
    def operator(self, name: str, inputs: Any) -> Any: ...

    def node(self, node: Any) -> Any: ...

    def recorded(self, node: Any) -> None: ...

    def ran(self, node: Any, results: Any, F: Any) -> None: ...


_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Show every operation to `watcher` from now on."""
    _change(lambda: _watchers.append(watcher))


def unwatch(watcher: Watcher) -> None:
    """Stop showing operations to `watcher`."""
    _change(lambda: _watchers.remove(watcher))


def _change(change: Callable[[], None]) -> None:
    with detour_lock:
        change()
        TRACING.on = bool(_watchers)
        TRACING.update()


def around_operator(name: str, inputs: Any = ()) -> ExitStack:
    """A context manager for one forward operation on these inputs (tensors or arrays, and Nones and others)."""
    stack = ExitStack()
    for watcher in list(_watchers):
        stack.enter_context(watcher.operator(name, inputs))
    return stack


def note_recorded(node: Any) -> None:
    """Tell watchers of a node that was just recorded."""
    for watcher in list(_watchers):
        watcher.recorded(node)


def run_traced(node: Any, F: Any, grad: Any) -> Any:
    """Run one node with every watcher looking."""
    watchers = list(_watchers)
    with ExitStack() as stack:
        for watcher in watchers:
            stack.enter_context(watcher.node(node))
        results = node.run(F, grad)
        for watcher in watchers:
            watcher.ran(node, results, F)
    return results
