"""`Pass`: what every worker needs to know of one distributed backward pass, and running this worker's graph in it."""

from __future__ import annotations

import threading
from _thread import get_ident
from typing import TYPE_CHECKING, Any

from mpigrad._core.engine import Captures, GraphTask
from mpigrad._core.guard import resume, suspend
from mpigrad._graph.grad_mode import MODE, TRACING
from mpigrad._graph.namespace import DIFF, RAW

from .context import DistAutogradContext, Sink

if TYPE_CHECKING:
    from .nodes import Batches
    from .partition import Source

_KEEP, _CREATE, _DISCARD, _BITS = 1, 2, 4, 3
_RANK_SHIFT = 44  # pass ids: the initiator's rank above a counter, three flags below

_capturing = threading.Lock()  # threads of one pass may meet at a captured leaf


class Pass:
    """One backward pass: its id (with the rank that began it), and how it runs."""

    __slots__ = ("F", "captured", "captures", "discard", "id", "initiator", "keep", "thread")

    def __init__(self, pass_id: int) -> None:
        self.id = pass_id  # with the flags: travels in the header of every message of the pass
        self.initiator = pass_id >> _RANK_SHIFT
        self.keep = bool(pass_id & _KEEP)
        self.F: Any = DIFF if pass_id & _CREATE else RAW
        self.discard = bool(pass_id & _DISCARD)  # keep no gradients in contexts: the initiator captures what it wants
        self.captures: Captures | None = None  # on the initiator: the nodes whose gradients it wants
        self.captured: dict[int, Any] = {}
        self.thread = 0  # on the initiator: the one that began it, and that an interrupt may end it on

    @classmethod
    def begin(cls, rank: int, number: int, keep: bool, create: bool, discard: bool) -> Pass:
        """A new pass, numbered by its initiator."""
        flags = _KEEP * keep | _CREATE * create | _DISCARD * discard
        return cls(rank << _RANK_SHIFT | (number << _BITS) & ((1 << _RANK_SHIFT) - 1) | flags)

    def run(self, context: DistAutogradContext, source: Source, grads: list[Any]) -> Batches:
        """Run the graph below a source with its gradients, which are used up; returns the gradients for other workers.

        A single path runs without the engine, unless something on it is recorded, watched or captured.
        """
        sink, user_code = Sink(context, self.F, self.discard), source.runs_user_code()
        path = source.path
        if path is not None and not user_code and self.F is RAW and self.captures is None and not TRACING.on:
            before = suspend() if self.thread and self.thread == get_ident() else -1
            try:
                path.run(self.F, self.keep, grads, sink)
            finally:
                resume(before)
        else:
            task = GraphTask(self.F, source.counts.copy(), self.keep, sink, self.captures)
            source.feed(task, grads)
            self.run_task(task, user_code)
        return sink.outgoing

    def run_task(self, task: GraphTask, user_code: bool) -> None:
        """Run what is ready in a task of this pass, recording if its gradients shall have a graph."""
        suspended = suspend() if self.thread and self.thread == get_ident() else -1
        try:
            self._run_task(task, user_code)
        finally:
            resume(suspended)

    def _run_task(self, task: GraphTask, user_code: bool) -> None:
        if not user_code and self.F is RAW and self.captures is None:
            task.run_alone()
            return
        before, MODE.enabled = MODE.enabled, self.F is DIFF
        try:
            task.run()
        finally:
            MODE.enabled = before
        if task.captured:
            self._capture(task.captured)
            task.captured = {}

    def _capture(self, found: dict[int, Any]) -> None:
        """Add the gradients that one part of the graph gave to captured nodes."""
        with _capturing:
            for place, grad in found.items():
                if grad is not None:
                    held = self.captured.get(place)
                    self.captured[place] = grad if held is None else held + grad
