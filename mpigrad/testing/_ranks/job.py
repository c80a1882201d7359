"""`pytest --mpigrad N` in the process that the user started: tests for ranks run in a job, the others as usual."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mpigrad._cli.run import check_outside_job
from mpigrad._launch.command import job_for, rank_program
from mpigrad._launch.launcher import LauncherError, find_launcher
from mpigrad._launch.process import start
from mpigrad.testing._ranks.deadline import LATE
from mpigrad.testing._ranks.link import Door, Link
from mpigrad.testing._ranks.on_rank import VARIABLE

START_SECONDS = 120.0
END_SECONDS = 30.0
FIXTURES = {"rpc_world", "mpi_world"}
MOST_CHARACTERS = 50_000


def runs_on_ranks(item: pytest.Item) -> bool:
    """Whether a test has the mark `mpigrad` or uses one of the fixtures for ranks."""
    return item.get_closest_marker("mpigrad") is not None or bool(FIXTURES & set(getattr(item, "fixturenames", ())))


class RankJob:
    """A running job whose ranks wait for tests to run."""

    def __init__(self, config: pytest.Config, ranks: int) -> None:
        self._output = tempfile.TemporaryFile("w+", errors="replace")
        self._seen = 0
        door = Door()
        spec = {"address": [door.host, door.port, door.key], "arguments": _arguments(config), "path": sys.path}
        program = rank_program("-m", "mpigrad.testing._ranks.on_rank")
        job = job_for(find_launcher(), ranks, program, variables={VARIABLE: json.dumps(spec)})
        captured = config.getoption("capture") != "no"
        self._process = start(job, self._output.fileno() if captured else None)
        end = time.monotonic() + START_SECONDS
        self._link: Link | None = door.accept(lambda: self.runs() and time.monotonic() < end)
        door.close()

    def runs(self) -> bool:
        """Whether the job is still running."""
        return self._process.poll() is None

    def run(self, test: str, following: str | None) -> Iterator[dict[str, Any]]:
        """Run a test on the ranks; yields its reports, and raises ConnectionError when the job ends before the test does."""
        self._seen = self._output.seek(0, 2)
        if self._link is None:
            raise ConnectionError("the ranks did not start")
        self._link.send({"test": test, "next": following})
        while (told := self._link.receive(self.runs)) is not None:
            if "finished" in told:
                return
            yield told["report"]
        raise ConnectionError("the ranks ended during this test")

    def end(self, at_once: bool = False) -> tuple[int, str]:
        """End the ranks; returns the launcher's exit code, and the output since the beginning of the last test.

        Very long output is cut at its beginning. `at_once`: terminate the ranks instead of letting them finish.
        """
        code = self._wait(at_once)
        self._output.seek(self._seen)
        with self._output:
            return code, self._output.read()[-MOST_CHARACTERS:]

    def _wait(self, at_once: bool) -> int:
        if self._link is not None:
            self._link.close()
        if at_once or self._link is None:
            self._process.terminate()
        try:
            return self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _arguments(config: pytest.Config) -> list[str]:
    """The arguments for pytest on the ranks: the user's arguments, with less output."""
    imported = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"  # ranks import mpigrad before pytest
    more = ["--no-header", "--color=no", "-W", imported, *(["--no-cov"] if config.pluginmanager.has_plugin("_cov") else [])]
    if config.getoption("capture") == "no":  # what ranks print goes to the terminal, and their summary is not wanted there
        more += ["-q", "--no-summary"]
    return [*map(str, config.invocation_params.args), *more]


class OnRanks:
    """The pytest plugin that passes tests to a job of ranks, and reports their results."""

    def __init__(self, config: pytest.Config, ranks: int) -> None:
        if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
            raise pytest.UsageError("--mpigrad starts ranks that run each test together; leave out -n of pytest-xdist")
        if config.getoption("usepdb"):
            raise pytest.UsageError("--pdb cannot be used with --mpigrad: ranks have no terminal")
        self._config = config
        self._ranks = ranks
        self._job: RankJob | None = None
        self._tests: list[str] = []
        try:
            check_outside_job()
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._tests = [item.nodeid for item in session.items if runs_on_ranks(item)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if not runs_on_ranks(item):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._reports(item):
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        item.session._setupstate.teardown_exact(nextitem)  # fixtures of earlier tests here
        return True

    def _reports(self, item: pytest.Item) -> Iterator[pytest.TestReport]:
        following = self._tests[self._tests.index(item.nodeid) + 1 :]
        job, phase = self._running_job(), "setup"
        try:
            for data in job.run(item.nodeid, following[0] if following else None):
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
                if isinstance(report.longrepr, list):  # JSON's form of the place and reason of a skip
                    report.longrepr = tuple(report.longrepr)
                phase = {"setup": "call", "call": "teardown"}.get(report.when, "teardown")
                yield report
        except ConnectionError as error:
            code, output = job.end(at_once=True)
            self._job = None  # the next test gets new ranks
            why = f"it {LATE}" if LATE in output else f"{error} (exit code {code})"
            text = f"{why}; the output of the ranks:\n{output}"
            yield pytest.TestReport(item.nodeid, item.location, {}, "failed", text, phase)  # type: ignore[arg-type]
        except BaseException:
            self._stop()
            raise

    def _running_job(self) -> RankJob:
        if self._job is None:
            try:
                self._job = RankJob(self._config, self._ranks)
            except (LauncherError, ValueError) as error:
                raise pytest.UsageError(str(error)) from error
        return self._job

    def _stop(self) -> None:
        if self._job is not None:
            self._job.end(at_once=True)
            self._job = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        job, self._job = self._job, None
        code, output = (0, "") if job is None else job.end()
        if code != 0:
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
            print(f"the ranks ended with exit code {code}; their output is:\n{output}", file=sys.stderr)
