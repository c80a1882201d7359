"""Holds: how the initiator of a pass learns of joined parts on other workers, and they of the end of the reach phase.

A worker that holds a joined part is counted until the part has run; the pass is over only then. It is counted in a tree, so that
the initiator of a pass over 10,000 workers gets a few messages instead of 10,000: the workers, in the order of ranks from the
initiator on, are the nodes of a tree in which each has FAN_OUT children. A worker counts the holds of its own parts and of its
children in a `Relay`, and is itself one hold of its parent while this count is above zero. In worlds of up to FAN_OUT + 1
workers, and in dynamic ones, the parent of every worker is the initiator.

    worker -> parent      HOLD     this worker, or one below it, holds a part; the answer is the state of the reach phase
                          DONE     no part is held here any more
    parent -> worker      REACHED  the reach phase is over: parts may run; told to all workers below
                          ABORT    the pass has failed: drop its parts; told to all workers below
    worker -> initiator   FAILED   the pass failed on this worker

Invariants
- A hold is answered after the parent itself is counted by its own parent, and so on. So the initiator knows that there are holds
  before the branch that brought the gradients ends.
- `Relay.holders` is changed under `_counting`; no message is sent and no future completed while it is locked.
- A relay ends, once: when nothing is held any more (then its parent is told), when its parent refuses it, or by ABORT. After a
  failure no DONE is sent: it could arrive before FAILED, and the pass would seem to have succeeded.
- A worker in the tree whose parent is lost drops the parts below it, since no ABORT could arrive.
"""

from __future__ import annotations

import struct
import threading
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mpigrad.distributed.rpc._protocol.errors import pack_error, unpack_error
from mpigrad.distributed.rpc._protocol.extensions import register_handler, worker_lost_hooks
from mpigrad.distributed.rpc._protocol.message import MessageType

from ..future import Future
from ..rpc.agent import RawMessage
from .contexts import Worker, worker_left

if TYPE_CHECKING:
    from ..rpc.agent import Agent
    from .engine import RootBranch
    from .passes import JoinedPart, Pass

FAN_OUT = 16
RANK_SHIFT = 39  # a pass id: the initiator's rank in 24 bits, a counter, three flags

_HOLD, _REACHED = int(MessageType.HOLD_AUTOGRAD_REQ), int(MessageType.REACHED_AUTOGRAD)
_DONE, _FAILED = int(MessageType.DONE_AUTOGRAD), int(MessageType.FAILED_AUTOGRAD)
_ABORT = int(MessageType.ABORT_AUTOGRAD)
_REACH_STATE = struct.Struct("<?q")
_counting = threading.Lock()


class ReachState(NamedTuple):
    """Whether the reach phase of a pass is over, and the id under which contexts keep which send functions it marked."""

    over: bool
    reach_id: int

    def encode(self) -> bytes:
        """Return the state as bytes, for the answer to a HOLD message."""
        return _REACH_STATE.pack(self.over, self.reach_id)

    @classmethod
    def decode(cls, body: bytes) -> ReachState:
        """Return the state in the answer to a HOLD message."""
        return cls(*_REACH_STATE.unpack(body))


# -- the tree ---------------------------------------------------------------------------------------------------------
def parent_of(worker: Worker, pass_id: int) -> int:
    """Return the rank at which a worker's holds are counted; the initiator if the parent in the tree has left."""
    initiator, agent = pass_id >> RANK_SHIFT, worker.agent
    if not agent.static:
        return initiator
    size = agent.transport.size
    # the initiator has place 0 in the order from it on, and place n has the children n * FAN_OUT + 1 ...
    parent = ((worker.worker_id - initiator) % size - 1) // FAN_OUT
    rank = (parent + initiator) % size
    return initiator if rank in agent.gone else rank


class Relay:
    """Counts the holds of one pass on a worker that is not the initiator: its own and those of its children in the tree."""

    __slots__ = ("context_id", "holders", "parent", "pass_id", "reach", "registered", "worker")

    def __init__(self, worker: Worker, pass_id: int, context_id: int) -> None:
        self.worker, self.pass_id, self.context_id = worker, pass_id, context_id
        self.parent = parent_of(worker, pass_id)
        self.holders: dict[int, int] = {}  # rank of a child or of this worker -> its holds
        self.reach = ReachState(False, 0)
        self.registered = Future()  # completes when the parent has accepted or refused this worker

    @classmethod
    def count(cls, worker: Worker, pass_id: int, context_id: int, rank: int) -> Relay:
        """Count a hold of `rank`, a child or the worker itself, and return the relay of the pass.

        The first hold registers the worker with its parent.
        """
        with _counting:
            relay = worker.relays.get(pass_id)
            new = relay is None
            if relay is None:
                relay = worker.relays[pass_id] = cls(worker, pass_id, context_id)
            relay.holders[rank] = relay.holders.get(rank, 0) + 1
        if new:
            relay._register()
        return relay

    def _register(self) -> None:
        try:
            asked = self.worker.agent.request(self.parent, _HOLD, extra=self.pass_id, context=(self.context_id, 0))
        except BaseException as error:
            self._refuse(error)
            raise
        asked._add(self._answered)

    def _answered(self, reply: Future) -> None:
        try:
            reach = ReachState.decode(reply.value()[0])
        except Exception as error:
            self._refuse(error)
            return
        with _counting:
            if reach.over:  # otherwise REACHED may have arrived before this answer
                self.reach = reach
        self.registered.set_result(None)

    def _refuse(self, error: BaseException) -> None:
        with _counting:
            self._remove()
        self.registered._set(2, error)

    def _remove(self) -> bool:
        """End this relay; returns False if it has ended before. Called with the lock."""
        if self.worker.relays.get(self.pass_id) is not self:
            return False
        del self.worker.relays[self.pass_id]
        return True

    def answer(self) -> bytes | Future:
        """Return the answer to a child's HOLD: the state of the reach phase.

        A Future of it, if the parent does not know of this worker yet.
        """
        if self.registered.done():
            return self._state()
        later = Future()
        self.registered._add(partial(self._tell, later))
        return later

    def _state(self) -> bytes:
        self.registered.value()  # raises the error if the parent has refused
        return self.reach.encode()

    def _tell(self, later: Future, _: Future) -> None:
        try:
            later.set_result(self._state())
        except BaseException as error:
            later._set(2, error)

    def done(self, rank: int, failed: bool = False) -> None:
        """Note that a hold of `rank` has ended; after the last one, tell the parent, unless the pass has failed."""
        with _counting:
            left = self.holders.get(rank, 0) - 1
            if left > 0:
                self.holders[rank] = left
            else:
                self.holders.pop(rank, None)
            ended = not self.holders and self._remove()
        if ended and not failed and self.parent not in self.worker.agent.gone:
            self.worker.agent.notify(self.parent, _DONE, extra=self.pass_id)

    def reached(self, reach_id: int) -> None:
        """The reach phase is over: tell all children that hold parts, and start the parts here."""
        with _counting:
            self.reach = ReachState(True, reach_id)
            ranks = list(self.holders)
        for rank in ranks:
            tell_reached(self.worker, self.context_id, self.pass_id, rank, reach_id)

    def abort(self) -> None:
        """The pass has failed: tell all children that hold parts, and drop the parts here."""
        with _counting:
            self._remove()
            ranks = list(self.holders)
        for rank in ranks:
            tell_abort(self.worker, self.context_id, self.pass_id, rank)


# -- from a holder to the initiator -----------------------------------------------------------------------------------
def register_hold(part: JoinedPart) -> None:
    """Register a joined part with the initiator of its pass, which accepts or refuses it; does not wait."""
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
    part.relay = Relay.count(worker, pass_.id, branch.context.context_id, worker.worker_id)
    part.relay.registered._add(partial(_registered, part, part.relay))


def _registered(part: JoinedPart, relay: Relay, registered: Future) -> None:
    try:
        registered.value()
    except Exception as error:
        part.refuse(error)
    else:
        part.accept(relay.reach)


def _initiated(worker: Worker, pass_id: int) -> RootBranch:
    """Return the branch of the roots of a pass that this worker has begun; RuntimeError if the pass has ended."""
    found = worker.initiated.get(pass_id)
    if found is None:
        raise RuntimeError(f"backward pass {pass_id} is not running on rank {worker.worker_id}: it has ended or failed")
    return found


def report_done(part: JoinedPart, failed: bool) -> None:
    """Report that a part has run or was dropped.

    If it has failed (`failed`), `report_failure` has told the initiator before.
    """
    worker, pass_ = part.branch.worker, part.branch.pass_
    if part.relay is not None:
        part.relay.done(worker.worker_id, failed)
    elif not failed and pass_.initiator == worker.worker_id:
        _hold_done(worker, pass_.id, worker.worker_id)


def _hold_done(worker: Worker, pass_id: int, rank: int) -> None:
    found = worker.initiated.get(pass_id) or worker.relays.get(pass_id)
    if found is not None:
        found.done(rank)


def report_failure(worker: Worker, pass_: Pass, error: BaseException) -> None:
    """Tell the initiator of a pass that it failed on this worker, with the error."""
    _report_failure(worker, pass_.id, error)


def _report_failure(worker: Worker, pass_id: int, error: BaseException) -> None:
    initiator = pass_id >> RANK_SHIFT
    if initiator == worker.worker_id:
        _fail(worker, pass_id, error)
    elif initiator not in worker.agent.gone:
        worker.agent.notify(initiator, _FAILED, pack_error(worker.agent.info, error), extra=pass_id)


def _fail(worker: Worker, pass_id: int, error: BaseException) -> None:
    found = worker.initiated.get(pass_id)
    if found is not None:
        found.fail(error)


def _handle_hold(agent: Agent, message: RawMessage) -> bytes | Future:
    worker, pass_id = agent.autograd, message.extra
    if pass_id >> RANK_SHIFT == worker.worker_id:
        return _initiated(worker, pass_id).add_holder(message.src).encode()
    return Relay.count(worker, pass_id, message.context_id, message.src).answer()


def _handle_done(agent: Agent, message: RawMessage) -> None:
    _hold_done(agent.autograd, message.extra, message.src)


def _handle_failed(agent: Agent, message: RawMessage) -> None:
    _fail(agent.autograd, message.extra, unpack_error(message.body))


# -- from the initiator to a holder -----------------------------------------------------------------------------------
def tell_reached(worker: Worker, context_id: int, pass_id: int, rank: int, reach_id: int) -> None:
    """Tell the worker `rank` that the reach phase is over, so that its parts of the pass may run."""
    if rank == worker.worker_id:
        _start_parts(worker, context_id, pass_id, reach_id)
    else:
        body = ReachState(True, reach_id).encode()
        worker.agent.notify(rank, _REACHED, body, extra=pass_id, context=(context_id, 0))


def _start_parts(worker: Worker, context_id: int, pass_id: int, reach_id: int) -> None:
    context = worker.container.contexts.get(context_id)
    if context is not None:
        for part in context.joined_parts(pass_id):
            part.start(reach_id)


def tell_abort(worker: Worker, context_id: int, pass_id: int, rank: int) -> None:
    """Tell the worker `rank` that the pass has failed, so that it drops its parts."""
    if rank == worker.worker_id:
        _abort_parts(worker, context_id, pass_id)
    else:
        worker.agent.notify(rank, _ABORT, extra=pass_id, context=(context_id, 0))


def _abort_parts(worker: Worker, context_id: int, pass_id: int) -> None:
    context = worker.container.contexts.get(context_id)
    if context is not None:
        for part in context.joined_parts(pass_id):
            part.abort()


def _handle_reached(agent: Agent, message: RawMessage) -> None:
    worker, reach_id = agent.autograd, ReachState.decode(message.body).reach_id
    relay = worker.relays.get(message.extra)
    if relay is not None:
        relay.reached(reach_id)


def _handle_abort(agent: Agent, message: RawMessage) -> None:
    relay = agent.autograd.relays.get(message.extra)
    if relay is not None:
        relay.abort()


# -- loss of a worker -------------------------------------------------------------------------------------------------
def _worker_lost(agent: Agent, rank: int) -> None:
    """Handle the loss of the worker `rank`.

    Passes that wait for its parts fail; parts of passes that it initiated are dropped, and its contexts released.
    """
    worker: Worker = agent.autograd
    why = agent.gone_error(rank)
    for branch in list(worker.initiated.values()):
        if rank in branch.holders:
            branch.fail(why)
    for relay in list(worker.relays.values()):
        if rank == relay.parent or rank in relay.holders:
            _report_failure(worker, relay.pass_id, why)
        if rank in (relay.parent, relay.pass_id >> RANK_SHIFT):
            relay.abort()
    for context in list(worker.container.contexts.values()):
        for part in context.joined_parts():
            if part.branch.pass_.initiator == rank:
                part.abort()
    worker_left(worker, rank)


register_handler(_HOLD, _handle_hold)
register_handler(_DONE, _handle_done)
register_handler(_FAILED, _handle_failed, in_place=False)  # decodes an exception, which may run user code
register_handler(_REACHED, _handle_reached, in_place=False)
register_handler(_ABORT, _handle_abort)
worker_lost_hooks.append(_worker_lost)
