"""`RootBranch`: the initiator's side of a pass. It knows every part that waits on any worker, and so when the pass is over.

A pass is over when the branch of its own roots has ended and no worker holds a part of it. Workers that hold gradients
register here before the branch that brought them is answered; the first registration starts the reach phase, whose end
is told to all. An error anywhere is told to the initiator at once, which then has all parts dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpigrad._core.future import Future

from ..rpc.call_table import CallFuture
from ..rpc.instruments import INSTRUMENTS, tell
from .branch import Branch, make_part
from .coordination import ReachState, register_hold, tell_abort, tell_reached
from .interceptor import Running
from .reach import reach

if TYPE_CHECKING:
    from .backward_pass import Pass
    from .container import Worker
    from .context import DistAutogradContext
    from .nodes import Batches
    from .partition import Source


class RootBranch(Branch):
    """The branch of a pass's roots, on the worker that began the pass."""

    __slots__ = ("_future", "_reach_id", "_reach_over", "holders", "over", "roots")

    def __init__(self, worker: Worker, context: DistAutogradContext, pass_: Pass, roots: Source) -> None:
        Branch.__init__(self, worker, context, pass_)
        self.roots = roots
        self.holders: dict[int, int] = {}  # rank -> how many parts it holds
        self.over = self._reach_over = False
        self._future: Future | None = None  # made when a thread has to wait for it
        self._reach_id: int | None = None
        worker.initiated[pass_.id] = self

    # -- the roots -----------------------------------------------------------------------------------------------------
    def run_roots(self, grads: list[Any]) -> CallFuture | None:
        """Run the graph below the roots, or hold it where send functions of this worker share nodes with it.

        Returns the future of the answer that the calling thread shall wait for: see `_send_on`.
        """
        observers = INSTRUMENTS.active
        if observers:
            tell(observers, "before_roots", self.worker)
        context, roots = self.context, self.roots
        try:
            context.parts.catch_up()
            sharing = context.parts.sharing_with(roots)
            if sharing:
                self._hold_roots(sharing, grads)
            else:
                outgoing = self.pass_.run(context, roots, grads)
                if outgoing:
                    return self._send_on(self.route(outgoing))
        except BaseException as error:
            self.fail(error)
        finally:
            if observers:
                tell(observers, "after_roots", self.worker)
        self.settle()
        return None

    def _hold_roots(self, sources: list[Source], grads: list[Any]) -> None:
        with self.context.lock:
            part = make_part(self.worker, self.context, self.pass_, [self.roots, *sources])
        register_hold(part)
        part.deliver(self.roots, grads)

    def take_answer(self, reply: CallFuture) -> CallFuture | None:
        """Wait for an answer and go on with the gradients that it carries; returns the future of the next answer."""
        context = self.context
        try:
            self.worker.agent.wait_for(reply)  # an interruption ends the pass, too
            batch = self.answered_gradients(reply)
            if batch:
                if not context.parts.runs_user_code():
                    return self._send_on(self.process(batch))
                with Running(context):
                    return self._send_on(self.process(batch))
        except BaseException as error:
            self.fail(error)
        self.settle()
        return None

    def _send_on(self, batches: Batches) -> CallFuture | None:
        """Send gradients to other workers. If they are all for one, as most often, return the future of its answer, with
        which the thread that began the pass goes on itself. Otherwise answers are taken as they come, on any thread."""
        if len(batches) == 1:
            ((rank, batch),) = batches.items()
            return self.send(rank, batch)
        self.send_all(batches)
        self.settle()
        return None

    # -- the reach phase -----------------------------------------------------------------------------------------------
    def add_holder(self, rank: int) -> ReachState:
        """Wait for one more part; returns the state of the reach phase, which the first part starts."""
        with self.lock:
            if self.over or self.error is not None:
                raise RuntimeError(f"backward pass {self.pass_.id} has ended already: {self.error or 'it is over'}")
            self.holders[rank] = self.holders.get(rank, 0) + 1
            first = self._reach_id is None
            if first:
                known = self.roots.reach_id
                self._reach_id, self._reach_over = (self.pass_.id, False) if known is None else (known, True)
        if first and not self._reach_over:
            self._start_reach()
        assert self._reach_id is not None
        return ReachState(self._reach_over, self._reach_id)

    def _start_reach(self) -> None:
        tell(INSTRUMENTS.active, "reach_started", self.worker, self.pass_.id)
        assert self._reach_id is not None
        try:
            pending = reach(self.worker, self.context, self._reach_id, [self.roots])
        except BaseException:
            self._observe_reach_end()
            raise
        if pending is None:
            self._reached()
        else:
            pending._add(self._reach_answered)

    def _reach_answered(self, answered: Future) -> None:
        try:
            answered.value()
        except BaseException as error:
            self._observe_reach_end()
            self.fail(error)
        else:
            self._reached()

    def _observe_reach_end(self) -> None:
        tell(INSTRUMENTS.active, "reach_ended", self.worker, self.pass_.id)

    def _reached(self) -> None:
        """Every send function that will get gradients is marked: let the parts run."""
        self._observe_reach_end()
        assert self._reach_id is not None
        with self.lock:
            self._reach_over = True
            self.roots.reach_id = self._reach_id
            ranks = list(self.holders)
        for rank in ranks:
            tell_reached(self.worker, self.context, self.pass_.id, rank, self._reach_id)

    # -- the end -------------------------------------------------------------------------------------------------------
    def part_done(self, rank: int) -> None:
        """A part of this worker has run."""
        with self.lock:
            left = self.holders.get(rank, 0) - 1
            if left > 0:
                self.holders[rank] = left
            else:
                self.holders.pop(rank, None)
        self._end()

    def fail(self, error: BaseException) -> None:
        """The pass failed on some worker: have all parts dropped."""
        with self.lock:
            if self.error is not None or self.over:
                return
            self.error = error
            ranks, self.holders = list(self.holders), {}
        for rank in ranks:
            tell_abort(self.worker, self.context, self.pass_.id, rank)
        self._end()

    def _end(self) -> None:
        """End the pass, once: when the branch has ended and no worker holds a part."""
        self.lock.acquire()
        try:
            if self.over or not self.ended or self.holders:
                return
            self.over, future = True, self._future
        finally:
            self.lock.release()
        self.worker.initiated.pop(self.pass_.id, None)
        if future is not None:
            self._complete(future)
            if future._callbacks:
                future._run_callbacks()

    def future(self) -> Future:
        """Completes when the pass is over."""
        with self.lock:
            if self._future is None:
                self._future = Future()
                if self.over:
                    self._complete(self._future)
            return self._future

    def _complete(self, future: Future) -> None:
        future._finish(1, None) if self.error is None else future._finish(2, self.error)

    def wait(self, deadline: float | None) -> None:
        """Wait for the end, making progress; the pass fails when the deadline has passed without it, or by an interrupt."""
        try:
            self.future()._block(deadline)
        except BaseException as error:
            self._give_up(error)
        if not self.over:
            seconds = self.worker.agent.rpc_timeout
            self._give_up(RuntimeError(f"{self._describe()} within {seconds} s (see set_rpc_timeout)"))

    def _give_up(self, error: BaseException) -> None:
        self.fail(error)
        with self.lock:
            self.ended = True  # although some messages have not been answered
        self.worker.live.discard(self)
        self._end()

    def _describe(self) -> str:
        """Which workers are still waited for."""
        held = ", ".join(f"rank {rank} ({count} parts)" for rank, count in sorted(self.holders.items()))
        return f"backward pass of context {self.context.context_id}: " + (
            f"gradients are awaited on {held}"
            if self.ended
            else "gradients sent to other workers were not answered"
        )
