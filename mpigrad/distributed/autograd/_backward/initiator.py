"""The initiator's side of a pass: it knows of every part that waits somewhere, and so when the pass is over.

A pass is over when the branch of its own roots has ended and no worker holds a part of it. Workers that hold gradients
register here before anybody is answered for them; the first registration starts the reach phase, whose end is told to all.
An error anywhere is told to the initiator at once, so that parts that wait for gradients that will not come are dropped.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError, pack_error, unpack_error
from mpigrad.distributed.rpc._protocol.extensions import lost_hooks, register_handler
from mpigrad.distributed.rpc._protocol.frame import RawMessage
from mpigrad.distributed.rpc._protocol.message import MessageType
from mpigrad.futures import Future

from .._context.release import worker_left
from .branch import Branch
from .reach import reach

if TYPE_CHECKING:
    from .._context.container import Worker
    from .._context.context import DistAutogradContext
    from .._graph.partition import Source
    from .backward_pass import Pass
    from .joined import HeldPart

_HOLD, _REACHED = int(MessageType.HOLD_AUTOGRAD_REQ), int(MessageType.REACHED_AUTOGRAD)
_DONE, _FAILED, _ABORT = (
    int(MessageType.DONE_AUTOGRAD),
    int(MessageType.FAILED_AUTOGRAD),
    int(MessageType.ABORT_AUTOGRAD),
)
_KNOWN = struct.Struct("<?q")


class Initiated(Branch):
    """A pass that this worker began: the branch of its roots, and the parts that wait on any worker."""

    __slots__ = ("_future", "_reach_done", "_reach_id", "holders", "over", "roots")

    def __init__(self, worker: Worker, context: DistAutogradContext, one: Pass, roots: Source) -> None:
        Branch.__init__(self, worker, context, one)
        self.roots = roots
        self.holders: dict[int, int] = {}  # rank -> how many parts it holds
        self.over = self._reach_done = False
        self._future: Any = None  # made when somebody is to wait for it
        self._reach_id: int | None = None
        worker.initiated[one.code] = self

    # -- the reach phase ---------------------------------------------------------------------------------------------
    def add_holder(self, rank: int) -> tuple[bool, int]:
        """Wait for one more part; gives whether the reach phase is over, and its id."""
        with self.lock:
            if self.over or self.error is not None:
                raise RuntimeError(f"backward pass {self.one.code} has ended already: {self.error or 'it is over'}")
            self.holders[rank] = self.holders.get(rank, 0) + 1
            first = self._reach_id is None
            if first:
                known = self.context.reaches.get(tuple(self.roots.nodes))
                self._reach_id, self._reach_done = (self.one.code, False) if known is None else (known, True)
        if first and not self._reach_done:
            self._start_reach()
        assert self._reach_id is not None
        return self._reach_done, self._reach_id

    def _start_reach(self) -> None:
        assert self._reach_id is not None
        pending = reach(self.worker, self.context, self._reach_id, [self.roots])
        if pending is None:
            self._reached()
        else:
            pending._add(self._reach_answered)

    def _reach_answered(self, future: Any) -> None:
        try:
            future.value()
        except BaseException as error:
            self.fail(error)
        else:
            self._reached()

    def _reached(self) -> None:
        assert self._reach_id is not None
        with self.lock:
            self._reach_done = True
            self.context.reaches[tuple(self.roots.nodes)] = self._reach_id
            ranks = list(self.holders)
        for rank in ranks:
            if rank == self.worker.worker_id:
                start_held(self.context, self.one.code, self._reach_id)
            else:
                self._tell(rank, _REACHED, _KNOWN.pack(True, self._reach_id))

    def _tell(self, rank: int, kind: int, body: bytes = b"") -> None:
        self.worker.agent.notify(rank, kind, body, extra=self.one.code, context=(self.context.context_id, 0))

    def describe(self) -> str:
        """Who is still waited for."""
        held = ", ".join(f"rank {rank} ({count} parts)" for rank, count in sorted(self.holders.items()))
        return f"backward pass of context {self.context.context_id}: " + (
            f"gradients are awaited on {held}"
            if self.ended
            else "gradients sent to other workers were not answered"
        )

    # -- the end -----------------------------------------------------------------------------------------------------
    def future(self) -> Any:
        """Completes when the pass is over."""
        with self.lock:
            if self._future is None:
                self._future = Future()
                if self.over:
                    self._complete(self._future)
            return self._future

    def _complete(self, future: Any) -> None:
        future._finish(1, None) if self.error is None else future._finish(2, self.error)

    def settle(self) -> None:
        """Count one thing that was pending as done; after the last the branch of the roots has ended."""
        self.lock.acquire()
        try:
            self.pending -= 1
            if self.pending:
                return
            self.ended = True
        finally:
            self.lock.release()
        self.worker.live.discard(self)
        self._end_if_over()

    def part_done(self, rank: int) -> None:
        """A part that was waited for is done."""
        with self.lock:
            left = self.holders.get(rank, 0) - 1
            if left > 0:
                self.holders[rank] = left
            else:
                self.holders.pop(rank, None)
        self._end_if_over()

    def fail(self, error: BaseException) -> None:
        """Something failed somewhere: let go of everything that waits."""
        with self.lock:
            if self.error is not None or self.over:
                return
            self.error = error
            ranks, self.holders = list(self.holders), {}
        for rank in ranks:
            if rank == self.worker.worker_id:
                abort_held(self.context, self.one.code)
            else:
                self._tell(rank, _ABORT)
        self._end_if_over()

    def give_up(self) -> None:
        """End with the error at hand, whatever has not answered."""
        with self.lock:
            self.ended = True
        self._end_if_over()

    def _end_if_over(self) -> None:
        self.lock.acquire()
        try:
            if self.over or not self.ended or self.holders:
                return
            self.over, future = True, self._future
        finally:
            self.lock.release()
        self.worker.initiated.pop(self.one.code, None)
        if future is not None:
            self._complete(future)
            if future._callbacks:
                future._run_callbacks()


# -- what other workers say to the initiator, and it to them ----------------------------------------------------------
def register_hold(part: HeldPart) -> None:
    """Make a part known to the initiator of its pass."""
    worker, one = part.worker, part.one
    if one.initiator == worker.worker_id:
        try:
            known, reach_id = _initiated(worker, one.code).add_holder(worker.worker_id)
        except Exception as error:
            part.refuse(error)
            return
        part.registered.set_result(None)
        if known:
            part.start(part.context.reached.get(reach_id, set()))
        return
    asked = worker.agent.request(one.initiator, _HOLD, extra=one.code, context=(part.context.context_id, 0))
    asked._add(lambda future: _hold_answered(part, future))


def _hold_answered(part: HeldPart, future: Any) -> None:
    try:
        known, reach_id = _KNOWN.unpack(future.value()[0])
    except Exception as error:
        part.refuse(error)
        return
    part.registered.set_result(None)
    if known:
        part.start(part.context.reached.get(reach_id, set()))


def report_done(worker: Worker, one: Pass) -> None:
    """Tell the initiator that a held part is done."""
    if one.initiator == worker.worker_id:
        found = worker.initiated.get(one.code)
        if found is not None:
            found.part_done(worker.worker_id)
    elif one.initiator not in worker.agent.gone:
        worker.agent.notify(one.initiator, _DONE, extra=one.code)


def report_failure(worker: Worker, one: Pass, error: BaseException) -> None:
    """Tell the initiator that the pass failed on this worker."""
    if one.initiator == worker.worker_id:
        found = worker.initiated.get(one.code)
        if found is not None:
            found.fail(error)
    elif one.initiator not in worker.agent.gone:
        worker.agent.notify(one.initiator, _FAILED, pack_error(worker.agent.info, error), extra=one.code)


def start_held(context: DistAutogradContext, code: int, reach_id: int) -> None:
    """The reach phase is over: let the parts of a pass run on this worker."""
    for part in _held_parts(context, code):
        part.start(context.reached.get(reach_id, set()))


def abort_held(context: DistAutogradContext, code: int) -> None:
    """A pass failed: drop its parts on this worker."""
    for part in _held_parts(context, code):
        part.abort()


def _held_parts(context: DistAutogradContext, code: int) -> list[HeldPart]:
    with context.lock:
        return list(dict.fromkeys(context.held.get(code, {}).values()))


def worker_lost(agent: Any, rank: int) -> None:
    """A worker is gone: passes that wait for its parts fail, parts of passes that it began and its contexts are dropped."""
    worker = agent.autograd
    for started in list(worker.initiated.values()):
        if rank in started.holders:
            started.fail(WorkerGoneError(agent.gone.get(rank, f"rank {rank} has left")))
    for context in list(worker.container.contexts.values()):
        for code in list(context.held):
            for part in _held_parts(context, code):
                if part.one.initiator == rank:
                    part.abort()
    worker_left(worker, rank)


def _initiated(worker: Worker, code: int) -> Initiated:
    found = worker.initiated.get(code)
    if found is None:
        raise RuntimeError(f"backward pass {code} is not running on rank {worker.worker_id}: it has ended or failed")
    return found


def _handle_hold(agent: Any, message: RawMessage) -> Any:
    return _KNOWN.pack(*_initiated(agent.autograd, message.extra).add_holder(message.src))


def _handle_reached(agent: Any, message: RawMessage) -> None:
    context = agent.autograd.container.contexts.get(message.context_id)
    if context is not None:
        start_held(context, message.extra, _KNOWN.unpack(message.body)[1])


def _handle_done(agent: Any, message: RawMessage) -> None:
    found = agent.autograd.initiated.get(message.extra)
    if found is not None:
        found.part_done(message.src)


def _handle_failed(agent: Any, message: RawMessage) -> None:
    found = agent.autograd.initiated.get(message.extra)
    if found is not None:
        found.fail(unpack_error(message.body))


def _handle_abort(agent: Any, message: RawMessage) -> None:
    context = agent.autograd.container.contexts.get(message.context_id)
    if context is not None:
        abort_held(context, message.extra)


register_handler(_HOLD, _handle_hold)
register_handler(_REACHED, _handle_reached, in_place=False)
register_handler(_DONE, _handle_done)
register_handler(_FAILED, _handle_failed)
register_handler(_ABORT, _handle_abort)
lost_hooks.append(worker_lost)
