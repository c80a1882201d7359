"""The loss of a worker as one event: receives it, and passes it to every part of RPC that has state of that worker.

A worker is *lost* if its process has ended, or stopped answering, without leaving the world. The event `lost(worker,
incarnation, why)` arrives as a LOST frame (`_protocol/lost.py` says from where), on the thread that polls, and is delivered
once, in this order:

1. the transport: nothing is sent to the rank any more, transfers under way are dropped (`Transport.abandon`);
2. the agent: `agent.lost[rank]` is the `Loss`, so that `agent.gone_error(rank)` is a `WorkerLostError`. `agent.workers` and
   `agent.by_name` no longer have the worker; `agent.gone` has the reason for errors and, in static worlds, `agent.left` has
   the worker, so that its name is still known (`Agent.lose`);
3. pending calls to it fail with `WorkerLostError`; from now on new ones do at once;
4. `extensions.worker_lost_hooks`, called with (agent, rank), in the order of their registration: RRefs (values of the lost
   worker raise, its forks are adopted), contexts and passes (released, failed), then those of other layers. The hooks also run
   for a worker that has left by itself; `rank in agent.lost` tells the two apart. A hook may run twice for one worker, must not
   block, and may send messages;
5. the callbacks of `on_worker_lost`, on a thread of the pool, one event after the other.

A worker that notices a loss by itself tells all others through a tree (`tell_all`): its frame also carries the ranks that the
receiver has to tell. If that worker is lost, too, the one that sent the frame tells these ranks itself.

Incarnations number the lives of a rank: `agent.epochs.get(rank, 0)`. A LOST frame about another incarnation than the known one
is ignored, so a new life is not mistaken for the old one. A worker that other workers declare lost although it lives (it was
stopped, or its link was cut) is killed by the others of its host, or ends when it learns of it: its messages are dropped by all
others, so nothing that it does could have an effect.
"""

from __future__ import annotations

import logging
import os
import signal
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mpigrad._process.mpi_end import leave_mpi_unfinalised
from mpigrad._process.survival import end_processes_of, spares, survive
from mpigrad.distributed._spares import tell_lost

from .._protocol import extensions
from .._protocol.lost import BY_EXIT, BY_SILENCE, Loss, reason
from .._protocol.message import MessageType
from .._protocol.tree import decode_ranks, divide, encode_ranks
from .._protocol.worker_info import WorkerInfo

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

logger = logging.getLogger(__name__)

Callback = Callable[[WorkerInfo, int, str], Any]
FAN_OUT = 8
_TOLD = "who has to tell whom of losses"  # slot of an agent
_REPORTER = struct.Struct("<I")


class Callbacks:
    """The callbacks of `on_worker_lost` on one agent. Each gets every loss, once and in order, and one runs at a time."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._losses: list[Loss] = []
        self._callbacks: list[Callback] = []
        self._queue: deque[tuple[Callback, Loss]] = deque()
        self._lock = threading.Lock()  # for the lists; never held while a callback runs
        self._running = threading.Lock()  # held by the thread that runs callbacks

    def add(self, callback: Callback) -> None:
        """Add a callback; it also gets the losses that happened before."""
        with self._lock:
            self._callbacks.append(callback)
            self._queue.extend((callback, loss) for loss in self._losses)
        self._start()

    def tell(self, loss: Loss) -> None:
        """Queue the calls of all callbacks with a new loss; a thread of the pool makes them."""
        with self._lock:
            self._losses.append(loss)
            self._queue.extend((callback, loss) for callback in self._callbacks)
        self._start()

    def _start(self) -> None:
        if self._queue:
            self._agent.progress.pool.submit(self._run)

    def _run(self) -> None:
        while self._queue and self._running.acquire(False):  # tested again: another thread may add before the release
            try:
                while self._queue:
                    callback, loss = self._queue.popleft()
                    _call(callback, loss)
            finally:
                self._running.release()


def _call(callback: Callback, loss: Loss) -> None:
    try:
        callback(*loss)
    except Exception:
        logger.exception("the callback %r for the loss of %s failed", callback, loss.worker)


def callbacks_of(agent: Agent) -> Callbacks:
    """Return the callbacks of `on_worker_lost` on an agent."""
    return agent.slots.setdefault("lost", Callbacks(agent))


def lose(agent: Agent, rank: int, incarnation: int, how: int, reporter: int, milliseconds: int = 0) -> None:
    """Deliver the loss of a worker as the module describes, unless that was done or it is about another incarnation.

    Args:
        rank, incarnation: which life of which worker was lost.
        how: one of the constants of `_protocol/lost.py`, such as BY_MPI.
        reporter: the rank that noticed the loss.
        milliseconds: how long the worker has been silent, if that is how the loss was noticed.
    """
    info = agent.workers.get(rank)
    if info is None or agent.epochs.get(rank, 0) != incarnation:
        return
    by = agent.workers.get(reporter)
    loss = Loss(info, incarnation, reason(how, f"rank {reporter}" if by is None else by.name, milliseconds))
    known = agent.lost.get(rank)
    if known is not None and known.incarnation == incarnation:
        return
    agent.lost[rank] = loss
    logger.warning("%s: %s was lost: %s", agent.info, info, loss.why)
    with agent.progress.queue.lock:  # transports are used under it only
        agent.transport.abandon(rank, how != BY_SILENCE)
        there = agent.transport.world_rank(rank)
    if how == BY_SILENCE and survive():
        end_processes_of(there)
    if how in (BY_SILENCE, BY_EXIT) and spares():  # MPI tells spares of other losses
        tell_lost(there)
    leave_mpi_unfinalised()  # MPI_Finalize would wait for the lost process
    agent.lose(rank, f"{info} was lost: {loss.why}")
    if agent.membership is not None:
        agent.membership.note_left(rank, incarnation)
    callbacks_of(agent).tell(loss)


class _News(NamedTuple):
    """A loss, as the fields of LOST frames: the worker and its incarnation, (milliseconds of silence, how), who noticed it."""

    rank: int
    incarnation: int
    context: tuple[int, int]
    reporter: int


def tell_all(agent: Agent, rank: int, incarnation: int, how: int, milliseconds: int) -> None:
    """Tell all other workers of a loss that this one has noticed; arguments as for `lose`."""
    news = _News(rank, incarnation, (milliseconds, how), agent.rank)
    _tell(agent, news, [each for each in sorted(agent.workers) if each not in (rank, agent.rank)])
    _tell(agent, news, [rank])  # if it only was silent, it ends when it reads this


def _tell(agent: Agent, news: _News, ranks: Sequence[int]) -> None:
    told = agent.slots.setdefault(_TOLD, deque(maxlen=64))  # enough for the losses of a few seconds
    for part in divide([each for each in ranks if each not in agent.gone], FAN_OUT):
        told.append((part[0], news, part[1:]))
        body = _REPORTER.pack(news.reporter) + encode_ranks(part[1:])
        agent.notify(part[0], MessageType.LOST, body, extra=news.rank, extra2=news.incarnation, context=news.context)


def _tell_instead(agent: Agent, rank: int) -> None:
    """Tell those of earlier losses whom `rank` had to tell: it is lost now, and may not have done so."""
    for head, news, ranks in list(agent.slots.get(_TOLD, ())):
        if head == rank:
            _tell(agent, news, ranks)


def _on_lost(agent: Agent, message: extensions.RawMessage) -> None:
    rank, incarnation, reporter = message.extra, message.extra2, message.src
    if message.body:  # from another worker, not from MPI
        (reporter,) = _REPORTER.unpack_from(message.body)
        news = _News(rank, incarnation, (message.context_id, message.message_id), reporter)
        _tell(agent, news, decode_ranks(message.body[_REPORTER.size :]))
    if rank == agent.rank:
        if agent.epoch == incarnation:
            _end(agent, reporter)
        return
    lose(agent, rank, incarnation, message.message_id, reporter, message.context_id)


def _end(agent: Agent, reporter: int) -> None:
    """End this process, which the other workers have declared lost.

    By SIGKILL: launchers that survive deaths do not count it as a failure of the job.
    """
    by = agent.workers.get(reporter, reporter)
    sys.stderr.write(f"mpigrad: {agent.info} ends: {by} has declared it lost, and all others go on without it\n")
    sys.stderr.flush()
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


extensions.register_handler(MessageType.LOST, _on_lost)
extensions.worker_lost_hooks.append(_tell_instead)
