"""One verdict for a test that runs on several ranks: a failure on any rank is a failure on all.

After each phase (setup, call, teardown) the ranks exchange their results. If a rank is still in the test when another has failed,
`PeerFailedError` is raised in its main thread after a grace period, so that it does not wait forever.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator
from types import FrameType

import pytest

from mpigrad.testing._ranks.channel import Channel, PeerFailedError
from mpigrad.testing._ranks.deadline import PEER_GRACE_SECONDS, Deadline

PHASES = ("setup", "call", "teardown")
INTERRUPT = signal.SIGRTMIN + 5  # USR1 and USR2 belong to the programs under test


def _joint_text(failed: list[int], texts: list[str]) -> str:
    """The failures by rank; ranks that stopped only because of another one are listed without details."""
    causes = [rank for rank in failed if PeerFailedError.__name__ not in texts[rank]] or failed
    errors = [line[1:].strip() for line in texts[causes[0]].splitlines() if line.startswith("E ")]
    head = f"failed on rank(s) {causes} of {len(texts)}: {errors[0] if errors else texts[causes[0]].strip()[-200:]}"
    rest = [rank for rank in failed if rank not in causes]
    if rest:
        head += f"\n(rank(s) {rest} could not go on without them)"
    return "\n".join([head, *(f"---- rank {rank}\n{texts[rank]}" for rank in causes)])


def _calls() -> str:
    """A description of this rank's pending calls and of the functions that it serves."""
    from mpigrad._watchdog.view import served, waits_of
    from mpigrad.distributed.rpc._agent.current import current

    if current.agent is None:
        return ""
    names = current.agent.workers
    waits = [f"\n---- it waits for {each.function} on {names[each.rank].name}" for each in waits_of(current.agent)]
    return "".join([*waits, *(f"\n---- thread {name} serves another worker:\n{stack}" for name, stack in served())])


class JointVerdicts:
    """The pytest plugin that exchanges and merges the ranks' reports."""

    def __init__(self, channel: Channel, deadline: Deadline) -> None:
        self._channel = channel
        self._deadline = deadline
        self._phase: str | None = None
        self._failure_seen: float | None = None
        self._raising = threading.Lock()
        deadline.on_tick(self._watch_peers)
        deadline.on_expiry(self._describe_wait, lambda: self._phase is None)
        signal.signal(INTERRUPT, self._raise_peer_failure)

    def check_collection(self, names: list[str]) -> None:
        """Stop the session if the ranks have not collected the same tests in the same order."""
        collected = self._channel.gather("collection", names)
        for rank, other in enumerate(collected):
            if other != collected[0]:
                differ = next((a, b) for a, b in zip([*other, None], [*collected[0], None]) if a != b)
                raise pytest.UsageError(f"rank {rank} collected {differ[0]} where rank 0 collected {differ[1]}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._channel.next_round()
        self._failure_seen = None
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        self._phase = "setup"
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self._phase = "call"
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        self._phase = "teardown"
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # from here on the signal handler must not raise: this rank's part of the test is over
        with self._raising:
            self._phase = None
        verdicts = self._channel.gather(call.when, (report.outcome, str(report.longrepr or "")))
        self._merge(report, verdicts)
        return report

    def _merge(self, report: pytest.TestReport, verdicts: list[tuple[str, str]]) -> None:
        failed = [rank for rank, (outcome, _) in enumerate(verdicts) if outcome == "failed"]
        mine = self._channel.rank
        if not failed:
            self._check_skips(report, [outcome for outcome, _ in verdicts])
        # rank 0 prints; if it alone has failed, its own report is complete
        elif failed != [mine] or mine != 0:
            report.outcome = "failed"
            report.longrepr = _joint_text(failed, [text for _, text in verdicts])

    def _check_skips(self, report: pytest.TestReport, outcomes: list[str]) -> None:
        if len(set(outcomes)) > 1:
            report.outcome = "failed"
            report.longrepr = f"the ranks disagree on skipping this test: {outcomes}"

    def failed_peers(self) -> dict[int, str]:
        """The error texts of other ranks whose current test has failed already."""
        found = {}
        for phase in PHASES:
            for rank, (outcome, text) in self._channel.received(phase).items():
                if outcome == "failed" and rank != self._channel.rank:
                    found[rank] = text
        return found

    def raise_for_peers(self) -> None:
        """Raise an error if another rank's test has failed."""
        if failed := self.failed_peers():
            raise PeerFailedError(f"rank(s) {sorted(failed)} failed in this test")

    def _watch_peers(self) -> None:
        self._channel.poll()
        if self._phase not in ("setup", "call") or not self.failed_peers():
            return
        if self._failure_seen is None:
            self._failure_seen = time.monotonic()
        elif time.monotonic() > self._failure_seen + PEER_GRACE_SECONDS:
            self._failure_seen = float("inf")
            signal.pthread_kill(threading.main_thread().ident or 0, INTERRUPT)

    def _raise_peer_failure(self, signum: int, frame: FrameType | None) -> None:
        if self._raising.acquire(blocking=False):
            try:
                running = self._phase in ("setup", "call")
            finally:
                self._raising.release()
            if running:
                self.raise_for_peers()

    def _describe_wait(self) -> str:
        waiting = [phase for phase in PHASES if self._channel.rank in self._channel.received(phase)]
        if self._phase is None and waiting:
            words = f": its {waiting[-1]} is over here, rank(s) {self._channel.missing(waiting[-1])} have not finished"
        else:
            words = f": it is in its {self._phase}"
        words += _calls()
        return words + "".join(f"\n---- rank {rank} had failed:\n{text}" for rank, text in self.failed_peers().items())
