"""Graceful shutdown: all workers leave together, once no request is in flight or running on any worker.

The worker with the lowest live rank asks all others, in rounds, how many requests they have issued and how many they
have finished for others. The workers may leave when all are in `shutdown`, none has anything under way, both sums are
equal, and they are the same in two consecutive rounds. Then no request exists that could start new work: a request
not yet received would make the sums differ, and one received between the rounds would change them. All workers serve
requests during the rounds. A worker that left without shutting down is not counted; then the sums need not be equal,
because its share is lost.

The agreement runs twice. After the first time all workers drop their RRefs, which no worker can need any more; the
second time waits for the messages about that. A worker that reaches `shutdown` first still serves, so its RRefs must
live until then.

The coordinator leaves after its CLOSE messages, and the communicator is freed. So no worker may send it a message on its own:
a worker that was interrupted (Ctrl-C) and calls `shutdown` again only answers, or its message could arrive after the end. (In
Open MPI, which reuses the numbers of communicators, it would then take the place of a message of the next world.)
"""

from __future__ import annotations

import contextlib
import struct
import time
from typing import TYPE_CHECKING

from mpigrad._core import guard
from mpigrad._core.future import Future, block

from .._protocol import extensions
from .._protocol.message import MessageType

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

_REPORT = struct.Struct("<QB3xQQ")
_MAX_PAUSE = 0.02


class Closing:
    """This worker's part in a graceful shutdown."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._entered = False
        self._last_called = False  # the first agreement is reached: all workers are to drop their RRefs
        self._last_call_done = False
        self._number = 0
        self._reports: dict[int, tuple[int, int, int, int]] = {}  # rank -> round, quiet, issued, handled
        self._changed = Future()
        self.closed = Future()
        self.left: set[int] = set()  # ranks that left by agreement while this worker was interrupted

    def run(self, deadline: float | None) -> None:
        """Return when all workers may leave; TimeoutError after the deadline."""
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
        self._agree(deadline)
        self._last_called = True
        self._agree(deadline)
        for rank in self._others():
            self._agent.notify(rank, MessageType.CLOSE)

    def _agree(self, deadline: float | None) -> None:
        """Ask in rounds until two consecutive ones find nothing in flight."""
        before: tuple[int, int] | None = None
        pause = 0.0005
        while True:
            self._heed_last_call()
            self._number += 1
            sums = self._round(self._number, deadline)
            if sums is not None and sums == before:
                return
            before = sums
            self._pause(Future(), pause, deadline)
            pause = min(pause * 1.5, _MAX_PAUSE)

    def _heed_last_call(self) -> bool:
        """After the first agreement, once: drop the objects that are kept for other workers. Runs on the thread in `shutdown`, as
        it may block.
        """
        if not self._last_called or self._last_call_done:
            return False
        for hook in extensions.before_shutdown_hooks:
            hook(self._agent)
        self._last_call_done = True
        return True

    def _others(self) -> list[int]:
        return [rank for rank in sorted(self._agent.workers) if rank != self._agent.rank]

    def _round(self, number: int, deadline: float | None) -> tuple[int, int] | None:
        """The sums of requests issued and finished; None if a worker is busy."""
        agent = self._agent
        for rank in self._others():
            agent.notify(rank, MessageType.PROBE, extra=number, extra2=self._last_called)
        while True:
            self._changed = Future()
            missing = [rank for rank in self._others() if self._reports.get(rank, (-1,))[0] < number]
            if not missing:
                break
            self._pause(self._changed, 0.05, deadline, missing)
        reports = [self._reports[rank] for rank in self._others()] + [_REPORT.unpack(self._report(number))]
        if not all(report[1] for report in reports):
            return None
        issued, handled = sum(report[2] for report in reports), sum(report[3] for report in reports)
        return (issued, handled) if issued == handled or agent.gone else None  # the counts of lost workers are unknown

    def _report(self, number: int) -> bytes:
        agent = self._agent
        issued, handled = agent.issued_and_handled()
        entered = self._entered and self._last_called == self._last_call_done  # not between the two agreements
        quiet = entered and agent.quiet() and all(hook(agent) for hook in extensions.quiet_hooks)
        return _REPORT.pack(number, quiet, issued, handled)

    def _pause(self, fut: Future, seconds: float, deadline: float | None, missing: list[int] | None = None) -> None:
        """Serve requests for `seconds` or until `fut` is done; TimeoutError if the deadline has passed."""
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            names = [str(self._agent.workers.get(rank, rank)) for rank in missing or self._others()]
            raise TimeoutError(f"{self._agent.info} waited in shutdown for {', '.join(names[:10])}")
        block(fut, now + seconds if deadline is None else min(deadline, now + seconds))
        guard.deliver()

    def on_probe(self, message: extensions.RawMessage) -> None:
        if message.extra2:
            self._last_called = True
            self._tell_changed()
        self._agent.notify(message.src, MessageType.REPORT, self._report(message.extra))

    def on_report(self, message: extensions.RawMessage) -> None:
        report = _REPORT.unpack(message.body)
        # two threads may handle a worker's reports in the wrong order: an old one must not replace a newer one
        if report[0] >= self._reports.get(message.src, report)[0]:
            self._reports[message.src] = report
        self._tell_changed()

    def on_close(self) -> None:
        if not self._entered:  # interrupted (Ctrl-C) after all workers had agreed: the others leave without this one
            self.left = set(self._others())
            for rank in self.left:
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
    extensions.register_handler(MessageType.CLOSE, lambda agent, message: agent.closing_protocol.on_close())


_register()
