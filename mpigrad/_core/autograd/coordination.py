"""Messages between the initiator of a pass and the workers that hold joined parts of it.

    holder -> initiator   HOLD     a part waits here; the answer is the state of the reach phase
                          DONE     a part has run
                          FAILED   the pass failed on this worker
    initiator -> holder   REACHED  the reach phase is over: parts may run
                          ABORT    the pass has failed: drop its parts

An initiator that holds parts itself calls the same methods directly.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mpigrad.distributed.rpc._protocol.errors import WorkerGoneError, pack_error, unpack_error
from mpigrad.distributed.rpc._protocol.extensions import register_handler, worker_lost_hooks
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..rpc.raw_message import RawMessage
from .release import worker_left

if TYPE_CHECKING:
    from mpigrad._core.future import Future

    from ..rpc.agent import Agent
    from .backward_pass import Pass
    from .container import Worker
    from .context import DistAutogradContext
    from .initiator import RootBranch
    from .joined import JoinedPart

_HOLD, _REACHED = int(MessageType.HOLD_AUTOGRAD_REQ), int(MessageType.REACHED_AUTOGRAD)
_DONE, _FAILED = int(MessageType.DONE_AUTOGRAD), int(MessageType.FAILED_AUTOGRAD)
_ABORT = int(MessageType.ABORT_AUTOGRAD)
_REACH_STATE = struct.Struct("<?q")


class ReachState(NamedTuple):
    """Whether the reach phase of a pass is over, and the id under which contexts keep its marks."""

    over: bool
    reach_id: int

    def encode(self) -> bytes:
        """As bytes of a message."""
        return _REACH_STATE.pack(self.over, self.reach_id)

    @classmethod
    def decode(cls, body: bytes) -> ReachState:
        """From bytes of a message."""
        return cls(*_REACH_STATE.unpack(body))


# -- from a holder to the initiator -----------------------------------------------------------------------------------
def register_hold(part: JoinedPart) -> None:
    """Make a part known to the initiator of its pass, which then accepts or refuses to wait for it."""
    branch = part.branch
    worker, pass_ = branch.worker, branch.pass_
    if pass_.initiator == worker.worker_id:
        try:
            reach = _initiated(worker, pass_.id).add_holder(worker.worker_id)
        except Exception as error:
            part.refuse(error)
        else:
            part.accept(reach)
        return
    asked = worker.agent.request(pass_.initiator, _HOLD, extra=pass_.id, context=(branch.context.context_id, 0))
    asked._add(partial(_hold_answered, part))


def _hold_answered(part: JoinedPart, reply: Future) -> None:
    try:
        reach = ReachState.decode(reply.value()[0])
    except Exception as error:
        part.refuse(error)
    else:
        part.accept(reach)


def _initiated(worker: Worker, pass_id: int) -> RootBranch:
    found = worker.initiated.get(pass_id)
    if found is None:
        raise RuntimeError(f"backward pass {pass_id} is not running on rank {worker.worker_id}: it has ended or failed")
    return found


def report_done(worker: Worker, pass_: Pass) -> None:
    """Tell the initiator that a part has run."""
    if pass_.initiator == worker.worker_id:
        _part_done(worker, pass_.id, worker.worker_id)
    elif pass_.initiator not in worker.agent.gone:
        worker.agent.notify(pass_.initiator, _DONE, extra=pass_.id)


def _part_done(worker: Worker, pass_id: int, rank: int) -> None:
    found = worker.initiated.get(pass_id)
    if found is not None:
        found.part_done(rank)


def report_failure(worker: Worker, pass_: Pass, error: BaseException) -> None:
    """Tell the initiator that the pass failed on this worker."""
    if pass_.initiator == worker.worker_id:
        _fail(worker, pass_.id, error)
    elif pass_.initiator not in worker.agent.gone:
        worker.agent.notify(pass_.initiator, _FAILED, pack_error(worker.agent.info, error), extra=pass_.id)


def _fail(worker: Worker, pass_id: int, error: BaseException) -> None:
    found = worker.initiated.get(pass_id)
    if found is not None:
        found.fail(error)


def _handle_hold(agent: Agent, message: RawMessage) -> bytes:
    return _initiated(agent.autograd, message.extra).add_holder(message.src).encode()


def _handle_done(agent: Agent, message: RawMessage) -> None:
    _part_done(agent.autograd, message.extra, message.src)


def _handle_failed(agent: Agent, message: RawMessage) -> None:
    _fail(agent.autograd, message.extra, unpack_error(message.body))


# -- from the initiator to a holder -----------------------------------------------------------------------------------
def tell_reached(worker: Worker, context: DistAutogradContext, pass_id: int, rank: int, reach_id: int) -> None:
    """Let the parts of a pass run on a worker: the reach phase is over."""
    if rank == worker.worker_id:
        _start_parts(context, pass_id, reach_id)
    else:
        body = ReachState(True, reach_id).encode()
        worker.agent.notify(rank, _REACHED, body, extra=pass_id, context=(context.context_id, 0))


def _start_parts(context: DistAutogradContext, pass_id: int, reach_id: int) -> None:
    for part in context.joined_parts(pass_id):
        part.start(reach_id)


def tell_abort(worker: Worker, context: DistAutogradContext, pass_id: int, rank: int) -> None:
    """Drop the parts of a pass on a worker: the pass has failed."""
    if rank == worker.worker_id:
        _abort_parts(context, pass_id)
    else:
        worker.agent.notify(rank, _ABORT, extra=pass_id, context=(context.context_id, 0))


def _abort_parts(context: DistAutogradContext, pass_id: int) -> None:
    for part in context.joined_parts(pass_id):
        part.abort()


def _handle_reached(agent: Agent, message: RawMessage) -> None:
    context = agent.autograd.container.contexts.get(message.context_id)
    if context is not None:
        _start_parts(context, message.extra, ReachState.decode(message.body).reach_id)


def _handle_abort(agent: Agent, message: RawMessage) -> None:
    context = agent.autograd.container.contexts.get(message.context_id)
    if context is not None:
        _abort_parts(context, message.extra)


# -- a worker is gone -------------------------------------------------------------------------------------------------
def _worker_lost(agent: Agent, rank: int) -> None:
    """Passes that wait for parts of a lost worker fail; parts of passes that it began are dropped, as are its contexts."""
    worker: Worker = agent.autograd
    for branch in list(worker.initiated.values()):
        if rank in branch.holders:
            branch.fail(WorkerGoneError(agent.gone.get(rank, f"rank {rank} has left")))
    for context in list(worker.container.contexts.values()):
        for part in context.joined_parts():
            if part.branch.pass_.initiator == rank:
                part.abort()
    worker_left(worker, rank)


register_handler(_HOLD, _handle_hold)
register_handler(_DONE, _handle_done)
register_handler(_FAILED, _handle_failed, in_place=False)  # makes the exception again, whose class may be a user's
register_handler(_REACHED, _handle_reached, in_place=False)
register_handler(_ABORT, _handle_abort)
worker_lost_hooks.append(_worker_lost)
