"""`Branch`: the work that one message of a pass (or the caller's roots) started on this worker, until all of it is done.

A branch runs the send functions whose gradients it got, sends what comes out to the workers concerned, and is
answered for only when they have answered: so the initiator knows that the whole pass is over when its own branch is.
Gradients for the worker that asked travel in the answer itself: one round trip per hop.

Invariants:
- `pending` counts messages not yet answered, plus one while the branch's own work runs. At 0 the branch ends, once.
- Gradients for sources that must wait for others (see `_backward/joined.py`) do not keep the branch waiting: the initiator knows
  of the wait before the branch ends. Otherwise two branches could wait for each other.
- User code (custom functions, hooks) never runs on the stack of a thread that waits for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpigrad._mutex import Mutex
from mpigrad.distributed.rpc._protocol.message import MessageType

from .._context.interceptor import Running
from .gradients import Item, decode, encode
from .independent import Outgoing, run_lone

if TYPE_CHECKING:
    from .._context.container import Worker
    from .._context.context import DistAutogradContext
    from .._graph.partition import Source
    from .backward_pass import Pass

_REQUEST = int(MessageType.BACKWARD_AUTOGRAD_REQ)
Batches = dict[int, list[Item]]  # gradients by the rank for which they are


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
        self.lock = Mutex()
        self.on_end: Callable[[Branch], None] | None = None
        worker.live.add(self)

    def run(self, items: list[Item]) -> None:
        """Do the branch's own work, and end if nothing else is to be waited for."""
        try:
            self.send_all(self.process(items))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def go_on(self, outgoing: Outgoing) -> None:
        """Do the rest of the branch's own work: what came out of it goes to the workers concerned."""
        try:
            self.send_all(self.sorted(outgoing))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def process(self, items: list[Item]) -> Batches:
        """Bring gradients to send functions of this worker; gives what comes out, by the workers concerned."""
        elsewhere: Batches = {}
        context = self.context
        parts = context.parts
        while items:
            message_id, grads = items.pop()
            if len(context.sends) != len(parts.sources):
                parts.catch_up()
            source = parts.source_for(message_id, grads)
            if parts.runs_alone(source, self.one):
                outgoing = run_lone(context, self.one, source, grads)
                if outgoing:
                    self._sort(outgoing, items, elsewhere)
            else:
                self._hold(source, grads)
        return elsewhere

    def sorted(self, outgoing: Outgoing) -> Batches:
        """What reached recv functions, by the workers that sent the tensors; what they sent to themselves is processed."""
        here: list[Item] = []
        elsewhere: Batches = {}
        self._sort(outgoing, here, elsewhere)
        if not here:
            return elsewhere
        self.send_all(elsewhere)  # others work while this worker does
        return self.process(here)

    def _sort(self, outgoing: Outgoing, here: list[Item], elsewhere: Batches) -> None:
        for recv, grad in outgoing:
            item = (recv.message_id, recv.complete(grad, self.one.F))
            rank = recv.worker
            if rank == self.requester:
                self.answer.append(item)
            elif rank == self.worker.worker_id and self.context.origins is None:
                here.append(item)
            else:
                elsewhere.setdefault(rank, []).append(item)

    def _hold(self, source: Source, grads: list[Any]) -> None:
        from .joined import hold

        hold(self, source, grads)

    # -- messages ----------------------------------------------------------------------------------------------------
    def send_all(self, batches: Batches) -> None:
        """Send gradients to other workers; their answers continue the branch."""
        for rank, items in batches.items():
            self.lock.acquire()
            try:
                self.pending += 1
            finally:
                self.lock.release()
            try:
                self.ask(rank, items, self._answered)
            except BaseException:
                self.lock.acquire()
                try:
                    self.pending -= 1
                finally:
                    self.lock.release()
                raise

    def ask(self, rank: int, items: list[Item], then: Callable[[Any], None] | None = None) -> Any:
        """Send gradients to another worker; the future of its answer."""
        context, one = self.context, self.one
        body, arrays = encode(items, context, one)
        context.known_workers.add(rank)
        return self.worker.agent.request(
            rank, _REQUEST, body, arrays, None, one.code, 0, (context.context_id, 0), then
        )

    def answers(self, reply: Any) -> list[Item]:
        """The gradients that came back in an answer."""
        answer = reply.value()
        if answer is None:
            return []
        body, arrays = answer
        return decode(body, arrays, reply._info[0], self.context, self.one)

    def _answered(self, reply: Any) -> None:
        try:
            items = self.answers(reply)
            if items:
                if self.context.parts.runs_user_code() and deferred(self, lambda: self.run(items)):
                    return
                self.send_all(self.process(items))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def fail(self, error: BaseException) -> None:
        """Note that the pass failed here; the first error counts."""
        with self.lock:
            if self.error is None:
                self.error = error
        from .initiator import report_failure

        report_failure(self.worker, self.one, error)

    def settle(self) -> None:
        """Count one thing that was pending as done; after the last the branch ends."""
        self.lock.acquire()
        try:
            self.pending -= 1
            if self.pending:
                return
            self.ended = True
        finally:
            self.lock.release()
        self.worker.live.discard(self)
        if self.on_end is not None:
            on_end, self.on_end = self.on_end, None  # which may hold the branch in turn
            on_end(self)


def deferred(branch: Branch, run: Callable[[], None]) -> bool:
    """Have the pool `run` user code in the branch's context, if this thread waits or holds the lead."""
    def inside() -> None:
        with Running(branch.context):
            run()

    agent = branch.worker.agent
    return agent is not None and agent.progress.defer(inside)
