"""Adoption: forks whose parent has left get another parent, so that the value they refer to stays alive.

A fork is the copy of an RRef on one worker; its parent is the worker that sent it the RRef, and counts it. When a worker leaves,
its own forks end. The forks that it had sent to other workers still exist, but no worker counts them any more: each worker that
has such a fork asks the owner of the RRef to count it, as soon as it knows of the loss.

Until all have done so, the worker that counted the fork of the lost worker keeps counting it, so that the value is not freed
meanwhile. It learns when by a *census*: every worker says that it knows of the loss and that the owners have counted its forks.
By then every message that the lost worker had sent has arrived.

The live worker with the lowest rank holds the census, one for all workers that wait for it. The question goes through a tree, in
which each worker asks a few others, and the answers come back on the same way. An answer names further losses: those that a
worker knew of but the question did not name, and workers that were lost before they answered. Then the question is repeated with
these, since forks on other workers may have come through them. If the worker that holds the census is lost, the next one holds
another.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mpigrad._core.future import Future
from mpigrad._core.rpc.rref import Owner, Table, User, includes

from .._protocol import extensions
from .._protocol.message import MessageType
from .._protocol.tree import decode_ranks, divide, encode_ranks

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

_ASK = int(MessageType.RREF_FORK_REQUEST)
_LIFE = struct.Struct("<IQ")  # rank, epoch
_COUNT = struct.Struct("<I")
FAN_OUT = 8
PATIENCE = 5.0  # seconds that a worker waits to learn of the loss itself before it answers
_LOOK = 0.01  # seconds between two checks of that
_CENSUS = "census"  # slot of the agent that holds one

Lives = dict[int, int]  # lost workers: rank -> the latest epoch


class Adoption:
    """Waits for the census of the loss of `rank`, which had forks: `held` has the records and how many.

    It starts at once. All changes are events of the table.
    """

    def __init__(self, table: Table, held: dict[Owner | User, int], rank: int) -> None:
        self._table, self._held, self._rank = table, held, rank
        self._ask()

    def _ask(self) -> None:
        agent = self._table.agent
        self._holder = min(_live(agent))
        if self._holder == agent.rank:
            hold_census(self._table, self._table.lost)._add(self._answered)
        else:
            agent.request_with_retries(self._holder, _ASK, _encode(self._table.lost), extra=1, then=self._answered)

    def _answered(self, fut: Future) -> None:
        self._table.enqueue(self._end if fut._state == 1 else self._ask_next)

    def _ask_next(self) -> None:
        if self._holder in self._table.agent.gone:
            self._ask()
        else:  # it did not answer in time
            self._end()

    def _end(self) -> None:
        self._table.adopted(self._held, self._rank)


def hold_census(table: Table, lives: Lives) -> Future:
    """Return a Future that is done when the census of these losses is: the latest one, if it includes them, or a new one."""
    known = table.agent.slots.get(_CENSUS)
    if known is None or _besides(lives, known.lives):
        known = table.agent.slots[_CENSUS] = Census(table, table.lost | _besides(lives, table.lost))
    found: Future = known.done
    return found


class Census:
    """A census of the losses `lives` on the worker that holds it; `done` is completed at its end."""

    def __init__(self, table: Table, lives: Lives) -> None:
        self.lives, self.done = lives, Future()
        self._table = table
        table.enqueue(self._ask)

    def _ask(self) -> None:
        agent = self._table.agent
        others = [rank for rank in _live(agent) if rank != agent.rank and _besides(_life(agent, rank), self.lives)]
        _Part(self._table, self.lives, others, self._answered)

    def _answered(self, found: Lives) -> None:
        if found:
            self.lives = self.lives | found
            self._ask()
        else:
            self.done.set_result(None)


class _Part:
    """The part of one worker in a census: its own answer and those of the workers `ranks`, which it asks.

    `then` is called with the losses that were found besides `lives`. All of it runs as events of the table.
    """

    def __init__(self, table: Table, lives: Lives, ranks: Sequence[int], then: Callable[[Lives], None]) -> None:
        self._table, self._lives, self._then = table, lives, then
        self._found: Lives = {}
        self._left = 1  # answers that are missing; the 1 is this worker's own
        self._ask(ranks)
        self._wait(time.monotonic() + PATIENCE)

    def _ask(self, ranks: Sequence[int]) -> None:
        agent = self._table.agent
        for rank in ranks:
            if rank in agent.gone:
                self._note(_life(agent, rank))
        for part in divide([rank for rank in ranks if rank not in agent.gone], FAN_OUT):
            self._left += 1
            body = _encode(self._lives, part[1:])
            agent.request_with_retries(part[0], _ASK, body, then=partial(self._table.enqueue, self._take, part))

    def _take(self, part: Sequence[int], fut: Future) -> None:
        if fut._state == 1:
            self._note(_decode(fut.value()[0])[0])
        else:  # if the worker is lost now, `_ask` notes it
            self._ask(part if part[0] in self._table.agent.gone else part[1:])
        self._one_less()

    def _note(self, found: Lives) -> None:
        self._found |= _besides(_besides(found, self._lives), self._found)

    def _wait(self, limit: float) -> None:
        """Wait until this worker knows of all losses, at most until `limit`, and until owners have counted its forks."""
        table = self._table
        if all(table.has_lost(*life) for life in self._lives.items()) or time.monotonic() > limit:
            table.enqueue(self._move)
        else:
            table.agent.after(_LOOK, lambda: self._wait(limit))

    def _move(self) -> None:
        table = self._table
        for rank, epoch in self._lives.items():
            if not table.has_lost(rank, epoch):
                table.move_orphans(rank)
        self._note(table.lost)
        table.when_moved(self._one_less)

    def _one_less(self) -> None:
        self._left -= 1
        if not self._left:
            self._then(self._found)


def _live(agent: Agent) -> list[int]:
    return [rank for rank in sorted({*agent.workers, agent.rank}) if rank not in agent.gone or rank == agent.rank]


def _life(agent: Agent, rank: int) -> Lives:
    return {rank: agent.epochs.get(rank, 0)}


def _besides(found: Lives, known: Lives) -> Lives:
    """Return those of the losses `found` that are not among `known`, nor earlier than one of them."""
    return {rank: epoch for rank, epoch in found.items() if rank not in known or not includes(known[rank], epoch)}


def _encode(lives: Lives, ranks: Sequence[int] = ()) -> bytes:
    return _COUNT.pack(len(lives)) + b"".join(_LIFE.pack(*life) for life in lives.items()) + encode_ranks(ranks)


def _decode(body: bytes) -> tuple[Lives, Sequence[int]]:
    end = _COUNT.size + _COUNT.unpack_from(body)[0] * _LIFE.size
    return Lives(_LIFE.iter_unpack(body[_COUNT.size : end])), decode_ranks(body[end:])


def _handle(agent: Agent, message: extensions.RawMessage) -> Future:
    """Hold a census (`extra` is 1), or take part in one: answer with further losses."""
    lives, ranks = _decode(message.body)
    if message.extra:
        return hold_census(agent.rrefs, lives)
    answer = Future()

    def take_part() -> None:
        _Part(agent.rrefs, lives, ranks, lambda found: answer.set_result(_encode(found)))

    agent.rrefs.enqueue(take_part)
    return answer


def _start(agent: Agent) -> None:
    agent.rrefs = Table(agent, Adoption)


extensions.start_hooks.append(_start)
extensions.register_handler(_ASK, _handle)
