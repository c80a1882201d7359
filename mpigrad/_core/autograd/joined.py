"""`JoinedPart`: a part of this worker's graph where gradients of several sources meet in one pass.

When the first gradient for such a part arrives, the worker registers a *hold* with the initiator of the pass. From then
on the initiator waits for this part too, and the branch that brought the gradient can be answered at once: no branch
waits for gradients that another branch brings. Once the initiator says that the reach phase is over, the part knows which
of its sources this pass will bring gradients to, runs as they come, and reports when it is done.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from mpigrad._core.engine import GraphTask
from mpigrad._core.future import Future

from ..rpc.instruments import INSTRUMENTS, tell
from .context import Sink
from .coordination import ReachState, report_done
from .partition import merged_counts

if TYPE_CHECKING:
    from .branch import Branch
    from .partition import Source


class _Delivery(NamedTuple):
    source: Source
    grads: list[Any]


class JoinedPart:
    """One part of this worker's graph in one pass.

    Gradients queue in `_waiting`; one thread at a time runs them, without holding the lock, so that parts never wait for
    each other's locks. There is no task, and nothing runs, until the reach phase is over.
    """

    __slots__ = (
        "_aborted",
        "_lock",
        "_missing",
        "_over",
        "_running",
        "_settled",
        "_sink",
        "_task",
        "_user_code",
        "_waiting",
        "branch",
        "registered",
        "sources",
    )

    def __init__(self, branch: Branch, sources: list[Source]) -> None:
        self.branch, self.sources = branch, sources  # the branch is pending until the part has run or was dropped
        branch.on_end = self._report
        self.registered = Future()  # completes when the initiator knows of this part
        self._waiting: list[_Delivery] = []
        self._missing: set[Source] = set()  # sources whose gradients are still to come
        self._sink = Sink(branch.context, branch.pass_.F, branch.pass_.discard)
        self._task: GraphTask | None = None
        self._lock = threading.Lock()
        self._running = self._over = self._aborted = self._settled = False
        self._user_code = any(source.runs_user_code() for source in sources)
        tell(INSTRUMENTS.active, "part_held", branch.worker, self)

    # -- what the initiator says ---------------------------------------------------------------------------------------
    def accept(self, reach: ReachState) -> None:
        """The initiator waits for this part from now on."""
        self.registered.set_result(None)
        if reach.over:
            self.start(reach.reach_id)

    def refuse(self, error: BaseException) -> None:
        """The initiator will not wait for this part: branches that brought gradients get the error."""
        self.registered._set(2, error)
        self.fail(error)

    def start(self, reach_id: int) -> None:
        """The reach phase is over: it has marked the send functions that will get gradients. Roots always do."""
        branch = self.branch
        reached = branch.context.reached.get(reach_id, set())
        with self._lock:
            if self._task is None:
                expected = [each for each in self.sources if each.message_id is None or each.message_id in reached]
                pass_ = branch.pass_
                self._missing = set(expected)
                self._task = GraphTask(pass_.F, merged_counts(expected), pass_.keep, self._sink, pass_.captures)
        self._work()

    def abort(self) -> None:
        """The pass failed: drop everything. The initiator knows, and does not wait for this part any more."""
        with self._lock:
            self._over = self._aborted = True
        self._settle()

    # -- the part's own work -------------------------------------------------------------------------------------------
    def deliver(self, source: Source, grads: list[Any]) -> None:
        """Take the gradients of one source: run what they make ready, or keep them until the reach phase is over."""
        self._waiting.append(_Delivery(source, grads))
        self._work()

    def _work(self) -> None:
        """Run everything that arrived, unless another thread does so or it is too early."""
        if self._user_code and self.branch.defer(self._work):
            return
        while True:
            with self._lock:
                if self._running or self._over or self._task is None or not self._waiting:
                    return
                delivery = self._waiting.pop(0)
                self._running = True
            try:
                self._run(self._task, delivery.source, delivery.grads)
            except BaseException as error:
                self.fail(error)
            with self._lock:
                self._running = False
                self._over = self._over or not self._missing
            self._settle()

    def _run(self, task: GraphTask, source: Source, grads: list[Any]) -> None:
        branch = self.branch
        if source not in self._missing:
            raise RuntimeError(f"pass {branch.pass_.id} brought unexpected gradients for message {source.message_id}")
        self._missing.discard(source)
        source.feed(task, grads)
        branch.pass_.run_task(task, user_code=True)
        outgoing, self._sink.outgoing = self._sink.outgoing, {}
        if not self._aborted:
            branch.send_all(branch.route(outgoing))

    def fail(self, error: BaseException) -> None:
        """The part cannot go on: tell the initiator, drop everything."""
        self.branch.fail(error)
        self.abort()

    def _settle(self) -> None:
        """End the part's own work, once: when it is over and no thread runs it any more."""
        with self._lock:
            if self._running or self._settled or not self._over:
                return
            self._settled = True
        self.branch.settle()

    def _report(self, branch: Branch) -> None:
        tell(INSTRUMENTS.active, "part_done", branch.worker, self)
        self._leave_context()
        if branch.error is None and not self._aborted:  # a failure was reported already, and might come after this
            report_done(branch.worker, branch.pass_)

    def _leave_context(self) -> None:
        context, pass_id = self.branch.context, self.branch.pass_.id
        with context.lock:
            joined = context.joined.get(pass_id)
            if joined is not None:
                for source in self.sources:
                    joined.pop(source, None)
                if not joined:
                    context.joined.pop(pass_id, None)
