"""The watch of one agent: a thread that detects calls without an answer for too long, and reports each once with its cause."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from mpigrad._process.logs import get_logger
from mpigrad._watchdog.chain import explain, follow
from mpigrad._watchdog.view import THREAD_NAME, Wait, view, waits_of
from mpigrad.distributed.rpc._agent import current

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent

log = get_logger("stall")


class StallWatch:
    """Checks an agent's pending calls several times within the limit."""

    def __init__(self, agent: Agent, seconds: float) -> None:
        self._agent = agent
        self._seconds = seconds
        self._first_seen: dict[int, float] = {}
        self._reported: set[int] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread of the watch."""
        self._end.set()
        # the agent may be stopped by a function that this thread called
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(min(1.0, self._seconds / 4)):
            wait = self.stalled()
            # during shutdown unanswered calls are normal
            if wait is not None and current.current.agent is self._agent:
                self._reported.add(wait.call_id)
                self._report(wait)

    def stalled(self) -> Wait | None:
        """The first call that has been pending for too long and has not been reported; None if there is none."""
        now = time.monotonic()
        # the watch's own calls are left out: they wait for the same worker
        waits = [wait for wait in waits_of(self._agent) if wait.function != view.__qualname__]
        # The time is counted from the first look, because calls without a timeout do not store when they began.
        self._first_seen = {wait.call_id: self._first_seen.get(wait.call_id, now) for wait in waits}
        self._reported &= self._first_seen.keys()
        for wait in waits:
            if now - self._first_seen[wait.call_id] >= self._seconds and wait.call_id not in self._reported:
                return wait
        return None

    def _report(self, wait: Wait) -> None:
        waited = time.monotonic() - self._first_seen[wait.call_id]
        links, circle = follow(self._agent, wait)
        if not self._end.is_set():
            log.warning("%s", explain(self._agent, wait.seconds or waited, links, circle))
