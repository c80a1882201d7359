"""Gradients that wait for others: a part with several sources in one pass, run with the counts of the reach phase.

When the first gradient for such a part arrives, the worker registers a *hold* with the initiator of the pass. From then
on the initiator waits for this part too, and the branch that brought the gradient can be answered at once: nobody
waits for a branch that itself waits for gradients. Once the initiator says that the reach phase is over, the part
knows which of its sources this pass will bring gradients to, runs as they come, and reports when it is done.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mpigrad._graph.engine import GraphTask
from mpigrad._graph.node import Edge
from mpigrad.futures import Future

from .._context.context import Sink
from .._graph.partition import Source, merged_counts
from .branch import Branch, deferred
from .independent import run_task

if TYPE_CHECKING:
    from .._context.container import Worker
    from .._context.context import DistAutogradContext
    from .backward_pass import Pass


class HeldPart:
    """One part of this worker's graph in one pass.

    Gradients queue in `_waiting`; one thread at a time runs them, without holding the lock, so that parts never wait for
    each other's locks. Until the reach phase is over there is no task, and nobody runs.
    """

    def __init__(self, worker: Worker, context: DistAutogradContext, one: Pass, sources: list[Source]) -> None:
        self.worker, self.context, self.one, self.sources = worker, context, one, sources
        self.branch = Branch(worker, context, one)  # pending until every gradient came and all of its work is done
        self.branch.on_end = self._report
        self.registered: Any = Future()  # completes when the initiator knows of this part
        self._waiting: list[tuple[Source, list[tuple[Edge, Any]]]] = []
        self._missing: set[Source] = set()  # sources whose gradients are still to come
        self._sink = Sink(context, one.F, one.discard)
        self._task: GraphTask | None = None
        self._lock = threading.Lock()
        self._running = self._over = self._aborted = self._settled = False
        self._user_code = any(source.runs_user_code() for source in sources)

    def deliver(self, source: Source, grads: list[tuple[Edge, Any]]) -> None:
        """Take the gradients of one source: run what they make ready, or keep them until the reach phase is over."""
        self._waiting.append((source, grads))
        self._work()

    def start(self, reached: set[int]) -> None:
        """The reach phase is over: these send functions will get gradients. Roots always do."""
        with self._lock:
            if self._task is None:
                expected = [each for each in self.sources if each.message_id is None or each.message_id in reached]
                self._missing = set(expected)
                self._task = GraphTask(
                    self.one.F, merged_counts(expected), self.one.keep, self._sink, self.one.captures
                )
        self._work()

    def _work(self) -> None:
        """Run everything that arrived, unless another thread is at it or it is too early."""
        if self._user_code and deferred(self.branch, self._work):
            return
        while True:
            with self._lock:
                if self._running or self._over or self._task is None or not self._waiting:
                    return
                source, grads = self._waiting.pop(0)
                self._running = True
            try:
                self._take(source, grads)
            except BaseException as error:
                self.fail(error)
            with self._lock:
                self._running = False
                self._over = self._over or not self._missing
            self._settle()

    def _take(self, source: Source, grads: list[tuple[Edge, Any]]) -> None:
        if source not in self._missing:
            raise RuntimeError(f"pass {self.one.code} brought unexpected gradients for message {source.message_id}")
        self._missing.discard(source)
        self._feed(source, grads)
        assert self._task is not None
        run_task(self._task, self.one)
        self._send_on()

    def _feed(self, source: Source, grads: list[tuple[Edge, Any]]) -> None:
        assert self._task is not None
        for (node, nr), grad in grads:
            self._task.feed(node, nr, grad)
        self._task.ready.extend(node for node in dict.fromkeys(source.nodes) if self._task.dependencies[node] == 0)

    def _send_on(self) -> None:
        outgoing, self._sink.outgoing = self._sink.outgoing, []
        if not self._aborted:
            self.branch.send_all(self.branch.sorted(outgoing))

    def _settle(self) -> None:
        """End the part's own work, once: when it is over and nobody runs it any more."""
        with self._lock:
            if self._running or self._settled or not self._over:
                return
            self._settled = True
        self.branch.settle()

    def refuse(self, error: BaseException) -> None:
        """The initiator will not wait for this part: whoever brought gradients gets the error."""
        self.registered.set_exception(error)
        self.fail(error)

    def fail(self, error: BaseException) -> None:
        """The part cannot go on: tell the initiator, drop everything."""
        self.branch.fail(error)
        self.abort()

    def abort(self) -> None:
        """The pass failed: drop everything. The initiator knows, and waits for this part no more."""
        with self._lock:
            self._over = self._aborted = True
        self._settle()

    def _report(self, branch: Branch) -> None:
        from .initiator import report_done

        forget(self)
        if branch.error is None and not self._aborted:  # a failure was told already, and might come after this
            report_done(self.worker, self.one)


def forget(part: HeldPart) -> None:
    """Take a part that is over out of its context."""
    with part.context.lock:
        held = part.context.held.get(part.one.code)
        if held is not None:
            for source in part.sources:
                held.pop(source, None)
            if not held:
                part.context.held.pop(part.one.code, None)


def held_part(worker: Worker, context: DistAutogradContext, one: Pass, source: Source) -> tuple[HeldPart, bool]:
    """The part of a pass that `source` belongs to, and whether it was made just now."""
    with context.lock:
        held = context.held.get(one.code, {})
        found = held.get(source)
        if found is not None:
            return found, False
        # what was sent since the pass began may have joined parts: those that wait already go on as they are
        sources = [each for each in context.parts.together(source) if each not in held]
        return make_part(worker, context, one, sources), True


def make_part(worker: Worker, context: DistAutogradContext, one: Pass, sources: list[Source]) -> HeldPart:
    """A part that waits for the gradients of `sources`. Call with the context's lock.

    A source that ran on its own earlier in this pass shares nodes only with what was sent since: it is not awaited.
    """
    if context.released:  # nobody could tell the part to start or to stop
        raise RuntimeError(f"Could not find autograd context with id: {context.context_id}")
    sources = [each for each in sources if one.code not in each.ran]
    made = HeldPart(worker, context, one, sources)
    held = context.held.setdefault(one.code, {})
    for each in sources:
        held[each] = made
    return made


def hold(branch: Branch, source: Source, grads: list[Any]) -> None:
    """Keep gradients that arrived with `branch` until the sources they share nodes with have theirs."""
    from .initiator import register_hold

    part, new = held_part(branch.worker, branch.context, branch.one, source)
    if new:
        register_hold(part)
    part.deliver(source, [((source.nodes[0], nr), grad) for nr, grad in enumerate(grads)])
    if not part.registered.done():
        with branch.lock:
            branch.pending += 1
        part.registered._add(lambda future: _registered(branch, future))


def _registered(branch: Branch, future: Any) -> None:
    try:
        future.value()
    except BaseException as error:
        branch.fail(error)
    branch.settle()
