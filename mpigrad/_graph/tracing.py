"""Watchers of operations and nodes: profilers and anomaly detection register here. `TRACING.on` tells whether there are any.

A watcher has four methods. `operator(name, inputs)` and `node(node)` return a context manager around the work;
`recorded(node)` is called for each node when its operation is recorded, and `ran(node, results, F)` after the node has run.
Watchers see the operations of all threads.
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
activity_hooks: list[Callable[[bool], None]] = []
"""Called when profiling starts and ends; other layers add their own."""


def watch(watcher: Watcher) -> None:
    """Register a watcher."""
    _change(lambda: _watchers.append(watcher))


def unwatch(watcher: Watcher) -> None:
    """Remove a watcher."""
    _change(lambda: _watchers.remove(watcher))


def _change(change: Callable[[], None]) -> None:
    with detour_lock:
        change()
        TRACING.on = bool(_watchers)
        TRACING.update()


def around_operator(name: str, inputs: Any = ()) -> ExitStack:
    """A context manager for one forward operation; `inputs` may contain tensors, arrays, None and other values."""
    stack = ExitStack()
    # a copy, because another thread may register or remove watchers meanwhile
    for watcher in list(_watchers):
        stack.enter_context(watcher.operator(name, inputs))
    return stack


def note_recorded(node: Any) -> None:
    """Call all watchers for a node that was just recorded."""
    for watcher in list(_watchers):
        watcher.recorded(node)


def run_traced(node: Any, F: Any, grad: Any) -> Any:
    """Run one node inside the context managers of all watchers."""
    watchers = list(_watchers)
    with ExitStack() as stack:
        for watcher in watchers:
            stack.enter_context(watcher.node(node))
        results = node.run(F, grad)
        for watcher in watchers:
            # inside the context managers, so that an error raised here (a NaN was found) is attributed to this node
            watcher.ran(node, results, F)
    return results
