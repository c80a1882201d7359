"""Graceful shutdown: all workers leave together, once no request is in flight or running on any worker.

The worker with the lowest live rank, the coordinator, asks all others, in rounds, how many requests they have issued and how many
they have finished for others. The workers may leave when all are in `shutdown`, none has anything under way, both sums are
equal, and they are the same in two consecutive rounds. Then no request exists that could start new work: a request
not yet received would make the sums differ, and one received between the rounds would change them. All workers serve
requests during the rounds. A worker that left without shutting down is not counted; then the sums need not be equal,
because its share is lost.

A round goes through a tree: PROBE carries the ranks that its receiver has to ask, and REPORT the sums of all of them. So each
worker sends and receives a few messages, and a round takes a time of the order of log(workers). A worker may be lost in the
middle of a round, or may receive the probes of two coordinators in the wrong order. So the coordinator starts another round when
it learns of a loss, or after PATIENCE seconds without an answer. Rounds have growing numbers; a worker takes part in the latest
one only. Messages of one worker to another keep their order: when a round has ended, all messages of earlier ones, along the same
tree, have been received. None can arrive after the end.

If workers are lost, or may be, the tree of the CLOSE messages may be broken: a worker that has died passes nothing on, and the
coordinator, which would repeat the message, has left. So each worker also sends a CLOSE to the workers at the distances 1, 2, 4,
8, ... from it, in the order of ranks and on both sides. One of them reaches every live worker unless all of these die.

The agreement runs twice. After the first time all workers drop their RRefs, which no worker can need any more; the
second time waits for the messages about that. A worker that reaches `shutdown` first still serves, so its RRefs must
live until then.

The coordinator leaves after its CLOSE messages, and the communicator is freed. So no worker may send it a message unasked: a
worker that was interrupted (Ctrl-C) and calls `shutdown` again only answers. Otherwise its message could arrive after the end;
in Open MPI, which reuses the numbers of communicators, the next world would receive it as one of its own.
"""

from __future__ import annotations

import contextlib
import struct
import threading
import time
from bisect import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpigrad._core import guard
from mpigrad._core.future import Future, block

from .._protocol import extensions
from .._protocol.message import MessageType
from .._protocol.tree import decode_ranks, divide, encode_ranks

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

_REPORT = struct.Struct("<QIIQQ")  # round, whether workers are lost, a rank that is not ready, requests issued, finished
_NOT_BUSY = 0xFFFFFFFF
_MAX_PAUSE = 0.02
FAN_OUT = 8
_SOON = 0.2  # seconds in which reports of workers that are alive are expected
PATIENCE = 2.0  # seconds; doubled with each round that is not answered


class _Round:
    """One round on one worker: which reports are missing, and the sums so far of the workers that it has to ask."""

    __slots__ = ("busy", "handled", "issued", "losses", "number", "over", "parent", "waiting")

    def __init__(self, number: int, parent: int | None, waiting: set[int]) -> None:
        self.number, self.parent, self.waiting = number, parent, waiting  # parent: the rank that asked; None on the coordinator
        self.issued = self.handled = 0
        self.busy = _NOT_BUSY  # the rank of a worker that is not ready to leave
        self.over = self.losses = False  # losses: some of the workers to ask are lost, and so are their counts

    def add(self, losses: bool, busy: int, issued: int, handled: int) -> None:
        self.issued, self.handled = self.issued + issued, self.handled + handled
        self.losses = self.losses or losses
        self.busy = min(self.busy, busy)


class Closing:
    """One worker's part in a graceful shutdown."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._entered = False
        self._last_called = False  # the first agreement is reached: all workers are to drop their RRefs
        self._last_call_done = False
        self._number = 0
        self._round_now = _Round(0, None, set())
        self._lock = threading.Lock()
        self._busy = _NOT_BUSY  # the worker that was not ready in the last round, for errors
        self._changed = Future()
        self.closed = Future()
        self.losses = False  # a worker knew of lost ones in the last round, even if this one does not
        self.left: set[int] = set()  # ranks that left by agreement while this worker was interrupted

    def run(self, deadline: float | None) -> None:
        """Wait until all workers may leave, serving calls meanwhile; TimeoutError after the deadline."""
        self._entered = True
        try:
            self._run(deadline)
        except BaseException:
            self._entered = False
            raise

    def _run(self, deadline: float | None) -> None:
        while True:
            self._changed = Future()
            if self.closed.done():
                return
            if min(self._agent.workers) == self._agent.rank:  # the coordinator; changes when workers are lost
                self._coordinate(deadline)
                return
            if not self._heed_last_call():
                self._pause(self._changed, 0.05, deadline)

    def _coordinate(self, deadline: float | None) -> None:
        """On the coordinator: bring about both agreements, and tell all others to leave."""
        self._agree(deadline)
        self._last_called = True
        self._agree(deadline)
        self._send_close(self._others())
        self._close_neighbours()

    def _send_close(self, ranks: Sequence[int]) -> None:
        """Tell these ranks, through a tree, that they may leave."""
        for part in divide(self._live(ranks), FAN_OUT):
            self._agent.notify(part[0], MessageType.CLOSE, encode_ranks(part[1:]), extra=self.losses)

    def _close_neighbours(self) -> None:
        """Tell a few ranks without the tree that they may leave, if a worker may be lost that had to tell them."""
        agent = self._agent
        if not (self.losses or agent.gone or agent.transport.reports_losses):
            return
        others = self._others()
        above = bisect(others, agent.rank)  # the place of the next rank
        distances = [1 << bit for bit in range((len(others) // 2).bit_length())]
        for place in {(above + step) % len(others) for each in distances for step in (each - 1, -each)}:
            agent.notify(others[place], MessageType.CLOSE, encode_ranks(()), extra=self.losses)

    def _live(self, ranks: Sequence[int]) -> Sequence[int]:
        """Return the ranks that this worker does not know to be lost; the coordinator may know of fewer losses."""
        gone = self._agent.gone
        return [rank for rank in ranks if rank not in gone] if gone else ranks

    def _agree(self, deadline: float | None) -> None:
        """Ask in rounds until two consecutive ones find nothing in flight."""
        before: tuple[int, int] | None = None
        pause = 0.0005
        while True:
            self._heed_last_call()
            sums = self._round(deadline)
            if sums is not None and sums == before:
                return
            before = sums
            self._pause(Future(), pause, deadline)
            pause = min(pause * 1.5, _MAX_PAUSE)

    def _heed_last_call(self) -> bool:
        """After the first agreement, once: drop the RRefs of this worker; returns whether this was done now.

        Called on the thread that is in `shutdown`, as it may block.
        """
        if not self._last_called or self._last_call_done:
            return False
        for hook in extensions.before_shutdown_hooks:
            hook(self._agent)
        self._last_call_done = True
        return True

    def _others(self) -> list[int]:
        return [rank for rank in sorted(self._agent.workers) if rank != self._agent.rank]

    def _round(self, deadline: float | None) -> tuple[int, int] | None:
        """Ask all workers once; returns the sums of requests issued and finished, None if a worker is not ready to leave."""
        patience = PATIENCE
        while True:
            others, began = self._others(), time.monotonic()
            asked = self._ask(self._number + 1, None, others)
            while True:
                self._changed = Future()
                waited = time.monotonic() - began
                if asked.over or others != self._others() or waited > patience:
                    break
                self._pause(self._changed, 0.05, deadline, sorted(asked.waiting) if waited > _SOON else None)
            if asked.over and others == self._others():
                break
            patience *= 2
        self._busy, self.losses = asked.busy, asked.losses
        if asked.busy != _NOT_BUSY:
            return None
        if asked.issued != asked.handled and not (asked.losses or self._agent.gone):  # the counts of lost workers are unknown
            return None
        return asked.issued, asked.handled

    def _ask(self, number: int, parent: int | None, ranks: Sequence[int]) -> _Round:
        """Begin the round `number` on this worker: ask the heads of the parts of `ranks` for their reports.

        `parent` is the rank that asked this worker, None on the coordinator.
        """
        live = self._live(ranks)
        parts = divide(live, FAN_OUT)
        asked = _Round(number, parent, {part[0] for part in parts})
        asked.losses = len(live) < len(ranks)
        with self._lock:
            if number <= self._number:
                return asked  # a later round has begun
            self._number, self._round_now = number, asked
        for part in parts:
            self._agent.notify(
                part[0], MessageType.PROBE, encode_ranks(part[1:]), extra=number, extra2=self._last_called
            )
        if not parts:
            self._end_round(asked)
        return asked

    def _end_round(self, asked: _Round) -> None:
        """All reports have arrived: add this worker's own, and send the sums to the worker that asked."""
        agent = self._agent
        issued, handled = agent.issued_and_handled()
        entered = self._entered and self._last_called == self._last_call_done  # not between the two agreements
        quiet = entered and agent.quiet() and all(hook(agent) for hook in extensions.quiet_hooks)
        asked.add(False, _NOT_BUSY if quiet else agent.rank, issued, handled)
        asked.over = True
        if asked.parent is None:
            self._tell_changed()
        else:
            body = _REPORT.pack(asked.number, asked.losses, asked.busy, asked.issued, asked.handled)
            agent.notify(asked.parent, MessageType.REPORT, body)

    def _pause(self, fut: Future, seconds: float, deadline: float | None, missing: list[int] | None = None) -> None:
        """Serve requests for `seconds` or until `fut` is done.

        TimeoutError if the deadline has passed; it names the ranks `missing`, by default those that were not ready in the
        last round.
        """
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            waited = missing or ([self._busy] if self._busy not in (_NOT_BUSY, self._agent.rank) else self._others())
            names = [str(self._agent.workers.get(rank, rank)) for rank in waited]
            raise TimeoutError(f"{self._agent.info} waited in shutdown for {', '.join(names[:10])}")
        block(fut, now + seconds if deadline is None else min(deadline, now + seconds))
        guard.deliver()

    def on_probe(self, message: extensions.RawMessage) -> None:
        """Handle a PROBE: begin its round here."""
        if message.extra2:
            self._last_called = True
            self._tell_changed()
        self._ask(message.extra, message.src, decode_ranks(message.body))

    def on_report(self, message: extensions.RawMessage) -> None:
        """Handle a REPORT: add its sums; ignored if it belongs to an earlier round."""
        number, losses, busy, issued, handled = _REPORT.unpack(message.body)
        with self._lock:
            asked = self._round_now
            if number != asked.number or message.src not in asked.waiting:
                return
            asked.add(bool(losses), busy, issued, handled)
            asked.waiting.discard(message.src)
            last = not asked.waiting
        if last:
            self._end_round(asked)

    def on_close(self, message: extensions.RawMessage) -> None:
        """Handle a CLOSE: pass it on, and let this worker leave."""
        self.losses = bool(message.extra)
        self._send_close(decode_ranks(message.body))
        if not self.closed.done():
            self._close_neighbours()
        if not self._entered:  # interrupted (Ctrl-C) after all workers had agreed: the others leave without this one
            self.left |= set(self._others())
            for rank in self.left & self._agent.workers.keys():
                self._agent.lose(rank, f"{self._agent.workers[rank]} has left this RPC world, so calls to it cannot be answered")
        if not self.closed.done():
            self.closed.set_result(None)
        self._tell_changed()

    def _tell_changed(self) -> None:
        with contextlib.suppress(RuntimeError):  # another thread may complete it between the check and here
            if not self._changed.done():
                self._changed.set_result(None)


def _register() -> None:
    extensions.register_handler(MessageType.PROBE, lambda agent, message: agent.closing_protocol.on_probe(message))
    extensions.register_handler(MessageType.REPORT, lambda agent, message: agent.closing_protocol.on_report(message))
    extensions.register_handler(MessageType.CLOSE, lambda agent, message: agent.closing_protocol.on_close(message))


_register()
