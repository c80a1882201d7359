"""`Branch`: the work that one message of a pass (or the caller's roots) started on this worker, until all of it is done.

A branch runs the send functions whose gradients it got, sends the resulting gradients to the workers concerned, and is
answered only when they have answered: so the initiator knows that the whole pass is over when its own branch is.
Gradients for the worker that asked travel in the answer itself: one round trip per hop.

Invariants:
- `pending` counts messages not yet answered, plus one while the branch's own work runs. At 0 the branch ends, once.
- Gradients that must wait for others (see `_core/autograd/joined.py`) do not keep the branch waiting: the initiator knows
  of the wait before the branch ends. Otherwise two branches could wait for each other.
- User code (custom functions, hooks) never runs on the stack of a thread that waits for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mpigrad._core.future import Future
from mpigrad._core.mutex import Mutex
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..rpc.call_table import CallFuture
from .coordination import register_hold, report_failure
from .gradients import decode, encode
from .interceptor import Running
from .joined import JoinedPart

if TYPE_CHECKING:
    from .backward_pass import Pass
    from .container import Worker
    from .context import DistAutogradContext
    from .nodes import Batches, MessageGradients
    from .partition import Source

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
        "pass_",
        "pending",
        "requester",
        "worker",
    )

    def __init__(self, worker: Worker, context: DistAutogradContext, pass_: Pass, requester: int | None = None) -> None:
        self.worker, self.context, self.pass_ = worker, context, pass_
        self.requester = requester  # the rank whose gradients may travel in the answer
        self.answer: list[MessageGradients] = []
        self.error: BaseException | None = None
        self.pending, self.ended = 1, False
        self.lock = Mutex()
        self.on_end: Callable[[Branch], None] | None = None
        worker.live.add(self)

    # -- the branch's own work -----------------------------------------------------------------------------------------
    def run(self, batch: list[MessageGradients]) -> None:
        """Bring gradients to send functions of this worker and send on what comes out."""
        try:
            self.send_all(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def finish(self, outgoing: Batches) -> None:
        """Send on what came out of the branch's own work."""
        try:
            self.send_all(self.route(outgoing))
        except BaseException as error:
            self.fail(error)
        self.settle()

    def process(self, batch: list[MessageGradients]) -> Batches:
        """Bring gradients to send functions of this worker; returns what comes out for other workers."""
        elsewhere: Batches = {}
        context, pass_ = self.context, self.pass_
        parts = context.parts
        while batch:
            gradients = batch.pop()
            parts.catch_up()
            source = parts.source_for(gradients.message_id, gradients.grads)
            if parts.claim_independent(source, pass_.id):
                outgoing = pass_.run(context, source, gradients.grads)
                if outgoing:
                    self._sort(outgoing, batch, elsewhere)
            else:
                self._hold(source, gradients.grads)
        return elsewhere

    def route(self, outgoing: Batches) -> Batches:
        """Put gradients for the requester into the answer and process those for this worker; returns those for others."""
        here: list[MessageGradients] = []
        elsewhere: Batches = {}
        self._sort(outgoing, here, elsewhere)
        if not here:
            return elsewhere
        self.send_all(elsewhere)  # others work while this worker does
        return self.process(here)

    def _sort(self, outgoing: Batches, here: list[MessageGradients], elsewhere: Batches) -> None:
        for rank, batch in outgoing.items():
            if rank == self.requester:
                self.answer.extend(batch)
            elif rank == self.worker.worker_id and self.context.origins is None:
                here.extend(batch)
            elif rank in elsewhere:
                elsewhere[rank].extend(batch)
            else:
                elsewhere[rank] = batch

    def defer(self, run: Callable[[], None]) -> bool:
        """Have the pool `run` user code in the branch's context, if this thread waits or leads; False if it may run here."""
        agent = self.worker.agent
        return agent is not None and agent.defer(partial(_run_within, self.context, run))

    # -- joined parts --------------------------------------------------------------------------------------------------
    def _hold(self, source: Source, grads: list[Any]) -> None:
        """Keep gradients until the sources that share nodes with theirs have got theirs."""
        part, new = find_part(self.worker, self.context, self.pass_, source)
        if new:
            register_hold(part)
        part.deliver(source, grads)
        if not part.registered.done():
            with self.lock:
                self.pending += 1
            part.registered._add(self._part_registered)

    def _part_registered(self, registered: Future) -> None:
        try:
            registered.value()
        except BaseException as error:
            self.fail(error)
        self.settle()

    # -- messages ------------------------------------------------------------------------------------------------------
    def send_all(self, batches: Batches) -> None:
        """Send gradients to other workers; their answers continue the branch."""
        for rank, batch in batches.items():
            self.lock.acquire()
            try:
                self.pending += 1
            finally:
                self.lock.release()
            try:
                self.send(rank, batch, self._answered)
            except BaseException:
                self.lock.acquire()
                try:
                    self.pending -= 1
                finally:
                    self.lock.release()
                raise

    def send(
        self, rank: int, batch: list[MessageGradients], then: Callable[[Any], None] | None = None
    ) -> CallFuture:
        """Send gradients to another worker; the future of its answer."""
        context, pass_ = self.context, self.pass_
        body, arrays = encode(batch, context, pass_)
        context.known_workers.add(rank)
        return self.worker.agent.request(
            rank, _REQUEST, body, arrays, None, pass_.id, 0, (context.context_id, 0), then
        )

    def answered_gradients(self, reply: CallFuture) -> list[MessageGradients]:
        """The gradients that another worker's answer carries."""
        answer = reply.value()
        if answer is None:
            return []
        body, arrays = answer
        return decode(body, arrays, reply.dst, self.context, self.pass_)

    def _answered(self, reply: CallFuture) -> None:
        try:
            batch = self.answered_gradients(reply)
            if batch:
                if self.context.parts.runs_user_code() and self.defer(partial(self.run, batch)):
                    return
                self.send_all(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()

    # -- the end -------------------------------------------------------------------------------------------------------
    def fail(self, error: BaseException) -> None:
        """Note that the pass failed here, and tell the initiator; the first error counts."""
        with self.lock:
            if self.error is None:
                self.error = error
        report_failure(self.worker, self.pass_, error)

    def settle(self) -> None:
        """Count one pending thing as done; after the last the branch ends."""
        self.lock.acquire()
        try:
            self.pending -= 1
            if self.pending:
                return
            self.ended = True
        finally:
            self.lock.release()
        self.worker.live.discard(self)
        self._end()

    def _end(self) -> None:
        if self.on_end is not None:
            on_end, self.on_end = self.on_end, None  # which may refer to the branch in turn
            on_end(self)

    def reply(self) -> Any:
        """The answer to the requester, or its Future while the branch runs."""
        self.lock.acquire()
        try:
            if not self.ended:
                future = Future()
                self.on_end = partial(_complete, future)
                return future
        finally:
            self.lock.release()
        return self.result()

    def result(self) -> Any:
        """The answer to the requester: its gradients, if there are any. Raises if the branch failed."""
        if self.error is not None:
            raise self.error
        return encode(self.answer, self.context, self.pass_) if self.answer else None


def _complete(future: Future, branch: Branch) -> None:
    try:
        future.set_result(branch.result())
    except BaseException as error:
        future._set(2, error)


def _run_within(context: DistAutogradContext, run: Callable[[], None]) -> None:
    with Running(context):
        run()


def find_part(worker: Worker, context: DistAutogradContext, pass_: Pass, source: Source) -> tuple[JoinedPart, bool]:
    """The joined part of a pass that `source` belongs to, and whether it was made just now."""
    with context.lock:
        joined = context.joined.get(pass_.id, {})
        found = joined.get(source)
        if found is not None:
            return found, False
        # sends since the pass began may have joined parts: those that wait already go on as they are
        sources = [each for each in context.parts.joined_with(source) if each not in joined]
        return make_part(worker, context, pass_, sources), True


def make_part(worker: Worker, context: DistAutogradContext, pass_: Pass, sources: list[Source]) -> JoinedPart:
    """A part that waits for the gradients of `sources`. Call with the context's lock.

    A source that ran on its own earlier in this pass shares nodes only with later sends: the part does not wait for it.
    """
    if context.released:  # no message could start or stop the part
        raise RuntimeError(f"Could not find autograd context with id: {context.context_id}")
    sources = [each for each in sources if pass_.id not in each.ran]
    part = JoinedPart(Branch(worker, context, pass_), sources)
    joined = context.joined.setdefault(pass_.id, {})
    for each in sources:
        joined[each] = part
    return part
