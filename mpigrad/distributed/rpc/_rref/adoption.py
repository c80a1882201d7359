"""Adoption: forks whose parent has left get another parent, so that the value they refer to stays alive.

A fork is the copy of an RRef on one worker; its parent is the worker that sent it the RRef, and counts it. When a worker leaves,
its own forks end. The forks that it had sent to other workers still exist, but no worker counts them any more: they are
*orphans*. So each worker that had counted a fork of the lost worker (the owner, or a user) asks all others for orphans of that
RRef, and becomes their parent. Until all have answered it keeps counting the lost fork, so that the value is not freed
meanwhile. A worker answers once it knows of the loss itself: by then every message that the lost worker had sent it has arrived.
"""

from __future__ import annotations

import struct
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from mpigrad._core.future import Future
from mpigrad._core.rpc.rref import ORPHAN, Owner, Table, User

from .._protocol import extensions
from .._protocol.message import MessageType

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

_ASK = int(MessageType.RREF_FORK_REQUEST)
_LIFE = struct.Struct("<IQ")  # rank, epoch
_RECORD = struct.Struct("<QQ")  # number of the RRef, fork id of the worker that asks (0: it is the owner)
_COUNT = struct.Struct("<I")
PATIENCE = 5.0  # seconds that a worker waits to learn of the loss itself before it answers
_LOOK = 0.01  # seconds between two checks of that


class Adoption:
    """One worker's search for the orphans of a lost worker.

    `held` has the records (`Owner` or `User`) whose forks went to the lost `rank`, and how many did; it starts at once.
    """

    def __init__(self, table: Table, held: dict[Owner | User, int], rank: int) -> None:
        self._table, self._held, self._ranks, self._left = table, held, [rank], 0
        self._ask()

    def _ask(self) -> None:
        agent = self._table.agent
        # calls to a lost worker fail before the table records the loss, so the ranks are named here too
        lost = {rank: agent.epochs.get(rank, 0) for rank in self._ranks} | self._table.lost
        body = _COUNT.pack(len(lost)) + b"".join(_LIFE.pack(*life) for life in lost.items())
        body += b"".join(_RECORD.pack(each.number, 0 if isinstance(each, Owner) else each.fork) for each in self._held)
        others = [rank for rank in list(agent.workers) if rank != agent.rank and rank not in agent.gone]
        self._left += 1 + len(others)  # the 1 is for this function: answers may arrive before the loop ends
        for rank in others:
            agent.request_with_retries(rank, _ASK, body, then=partial(self._answered, rank))
        self._one_less()

    def _answered(self, rank: int, fut: Future) -> None:
        self._table.enqueue(self._take, rank, fut.value()[0] if fut._state == 1 else b"")

    def _take(self, rank: int, counts: bytes) -> None:
        for record, (count,) in zip(self._held, _COUNT.iter_unpack(counts)):
            if count:
                record.children[rank] += count
                self._table.end_if_childless(record, rank)  # the fork may have ended before this count arrived
        if not counts and rank in self._table.agent.gone and rank not in self._ranks:
            self._ranks.append(rank)  # this worker was lost before it answered: ask for its orphans too
            self._ask()
        self._one_less()

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left:
            self._table.adopted(self._held, self._ranks[0])


def _handle(agent: Agent, message: extensions.RawMessage) -> Future:
    """Answer a question for orphans: the number of them for each RRef that the message names."""
    (count,) = _COUNT.unpack_from(message.body)
    end = _COUNT.size + count * _LIFE.size
    lives, records = message.body[_COUNT.size : end], message.body[end:]
    answer = Future()
    asked = set(_LIFE.iter_unpack(lives)), list(_RECORD.iter_unpack(records)), message.src
    _answer_when_known(agent.rrefs, asked, answer, time.monotonic() + PATIENCE)
    return answer


def _answer_when_known(table: Table, asked: Any, answer: Future, limit: float) -> None:
    """Answer when this worker knows of the losses that the question names, or when the time `limit` has come."""
    if all(table.has_lost(*life) for life in asked[0]) or time.monotonic() > limit:
        table.enqueue(_give, table, asked, answer)
    else:
        table.agent.after(_LOOK, lambda: _answer_when_known(table, asked, answer, limit))


def _give(table: Table, asked: Any, answer: Future) -> None:
    """Make the worker that asks the parent of the orphans here, and tell it how many there are, unless it has left meanwhile."""
    lives, records, parent = asked
    if parent in table.agent.gone:
        answer.set_result(b"")
        return
    # workers that this one has not lost yet, but the asking worker has: their forks are orphans as well
    without = {ORPHAN, *(rank for rank, epoch in lives if not table.has_lost(rank, epoch))}
    counts = []
    for number, parent_fork in records:
        found = [user for user in list(table.users.values()) if user.number == number and user.parent in without]
        for user in found:
            user.parent, user.parent_fork = parent, parent_fork
        counts.append(_COUNT.pack(len(found)))
    answer.set_result(b"".join(counts))


def _start(agent: Agent) -> None:
    agent.rrefs = Table(agent, Adoption)


extensions.start_hooks.append(_start)
extensions.register_handler(_ASK, _handle)
