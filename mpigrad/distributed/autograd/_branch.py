"""`Branch`: the work that one message of a pass (or the caller's roots) started on this worker, until all of it is done.

A branch runs the send functions whose gradients it got, sends what comes out to the workers concerned, and is
answered for only when they have answered: so the initiator knows that the whole pass is over when its own branch is.
Gradients for the worker that asked travel in the answer itself: one round trip per hop.

Invariants:
- `pending` counts messages not yet answered, plus one while the branch's own work runs. At 0 the branch ends, once.
- Gradients for sources that must wait for others (see `_held.py`) do not keep the branch waiting: the initiator knows
  of the wait before the branch ends. Otherwise two branches could wait for each other.
- User code (custom functions, hooks) never runs on the stack of a thread that waits for something else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..._graph.engine import GraphTask
from ..._graph.grad_mode import MODE, TRACING
from ..._graph.namespace import DIFF
from ..rpc._message import MessageType
from ._items import Item, decode, encode
from ._sink import Sink

if TYPE_CHECKING:
    from ._context import DistAutogradContext
    from ._parts import Source
    from ._pass import Pass
    from ._worker import Worker

_REQUEST = int(MessageType.BACKWARD_AUTOGRAD_REQ)


class Branch:
    """One worker's work for one message of a pass."""

    __slots__ = (
        "answer",
        "context",
        "ended",
        "error",
        "lock",
        "on_end",
        "one",
        "pending",
        "requester",
        "worker",
    )

    def __init__(self, worker: Worker, context: DistAutogradContext, one: Pass, requester: int | None = None) -> None:
        self.worker, self.context, self.one = worker, context, one
        self.requester = requester  # the rank whose gradients may travel in the answer
        self.answer: list[Item] = []
        self.error: BaseException | None = None
        self.pending, self.ended = 1, False
        self.lock = threading.Lock()
        self.on_end: Callable[[Branch], None] | None = None
        worker.live.add(self)

    def run(self, items: list[Item]) -> None:
        """Do the branch's own work, and end if nothing else is to be waited for."""
        try:
            self.process(items)
        except BaseException as error:
            self.fail(error)
        self.settle()

    def process(self, items: list[Item]) -> None:
        """Bring gradients to send functions of this worker, and what comes out to the workers concerned."""
        elsewhere: dict[int, list[Item]] = {}
        context, code = self.context, self.one.code
        parts = context.parts
        while items:
            message_id, grads = items.pop()
            if len(context.sends) != len(parts.sources):
                parts.catch_up()
            source = parts.sources.get(message_id) or parts.source(message_id)
            if len(grads) != source.outputs:
                raise RuntimeError(
                    f"{len(grads)} gradients came for autograd message {message_id}, which had carried {source.outputs} "
                    "tensors that need them"
                )
            held = context.held.get(code) if context.held else None
            if len(source.part.sources) == 1 and (held is None or source not in held):  # the pass's own roots may meet it
                source.ran = code
                outgoing = self.run_source(source, grads)
                if outgoing:
                    self._sort(outgoing, items, elsewhere)
            else:
                self._hold(source, grads)
        for rank, batch in elsewhere.items():
            self.send(rank, batch)

    def dispatch(self, outgoing: list[tuple[Any, Any]]) -> None:
        """Bring what reached recv functions to the workers that sent the tensors."""
        here: list[Item] = []
        elsewhere: dict[int, list[Item]] = {}
        self._sort(outgoing, here, elsewhere)
        for rank, batch in elsewhere.items():
            self.send(rank, batch)
        if here:
            self.process(here)

    def _sort(self, outgoing: list[tuple[Any, Any]], here: list[Item], elsewhere: dict[int, list[Item]]) -> None:
        for recv, grad in outgoing:
            item = (recv.message_id, recv.complete(grad, self.one.F))
            rank = recv.worker
            if rank == self.requester:
                self.answer.append(item)
            elif rank == self.worker.worker_id and self.context.origins is None:
                here.append(item)
            else:
                elsewhere.setdefault(rank, []).append(item)

    def run_source(self, source: Source, grads: list[Any]) -> list[tuple[Any, Any]]:
        """Run the graph below one lone send function; gives what reached recv functions."""
        one = self.one
        sink = Sink(self.context, one.F, one.discard)
        if source.ends is not None and one.captures is None and not TRACING.on and source.unwatched():
            for place, node in enumerate(source.ends):
                grad, grads[place] = grads[place], None  # nobody else holds it then, and the context may keep it
                sink(node, grad)
            return sink.outgoing
        function = source.nodes[0]
        task = GraphTask(one.F, source.counts.copy(), one.keep, sink, one.captures)
        task.buffers[function] = grads if function.outputs != 1 else grads[0]
        task.ready.append(function)
        run_task(task, one)
        return sink.outgoing

    def _hold(self, source: Source, grads: list[Any]) -> None:
        from ._held import hold

        hold(self, source, grads)

    # -- messages ----------------------------------------------------------------------------------------------------
    def send(self, rank: int, items: list[Item]) -> None:
        """Send gradients to another worker; its answer continues the branch."""
        context, one = self.context, self.one
        body, arrays = encode(items, context, one)
        with self.lock:
            self.pending += 1
        context.known_workers.add(rank)
        self.worker.agent.request(
            rank, _REQUEST, body, arrays, None, one.code, 0, (context.context_id, 0), self._answered
        )

    def _answered(self, reply: Any) -> None:
        try:
            body, arrays = reply.value()
            if body:
                items = decode(body, arrays, reply._info[0], self.context, self.one)
                if moved(self, lambda: self.run(items)):
                    return
                self.process(items)
        except BaseException as error:
            self.fail(error)
        self.settle()

    def fail(self, error: BaseException) -> None:
        """Note that the pass failed here; the first error counts."""
        with self.lock:
            if self.error is None:
                self.error = error
        from ._initiator import report_failure

        report_failure(self.worker, self.one, error)

    def settle(self) -> None:
        """Count one thing that was pending as done; after the last the branch ends."""
        with self.lock:
            self.pending -= 1
            if self.pending:
                return
            self.ended = True
        self.worker.live.discard(self)
        if self.on_end is not None:
            self.on_end(self)


def moved(branch: Branch, run: Callable[[], None]) -> bool:
    """Have the pool `run` a branch's work, if it may run user code while this thread waits or holds the lead."""
    return branch.context.parts.runs_user_code() and deferred(branch, run)


def deferred(branch: Branch, run: Callable[[], None]) -> bool:
    """Have the pool `run` user code in the branch's context, if this thread waits or holds the lead."""
    from ._interceptor import Running

    def inside() -> None:
        with Running(branch.context):
            run()

    agent = branch.worker.agent
    return agent is not None and agent.progress.defer(inside)


def run_task(task: GraphTask, one: Pass) -> None:
    """Run a task of a pass, recording if its gradients are to have a graph."""
    before, MODE.enabled = MODE.enabled, task.F is DIFF
    try:
        task.run()
    finally:
        MODE.enabled = before
    if task.captured:
        one.capture(task.captured)
        task.captured = {}
