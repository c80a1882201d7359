"""Where `mpigrad top` finds the reports of a job's ranks: it asks the ranks of this host, or reads a directory of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

from mpigrad._watchdog import attach

VARIABLE = "MPIGRAD_TOP"

Report = dict[str, Any]


class Job(Protocol):
    """A job that can be watched."""

    name: str

    def reports(self) -> list[Report]:
        """The last report of each rank, by rank."""
        ...


class Directory:
    """A job whose ranks write their reports to files in a directory, because they run on several hosts."""

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, path.name

    def reports(self) -> list[Report]:
        """The reports in the directory."""
        found = [json.loads(path.read_text()) for path in self._path.glob("rank-*.json")]
        return sorted(found, key=lambda each: each["rank"])


class Attached:
    """A job on this host, whose ranks are asked for their reports."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._last: dict[int, Report] = {}  # pid -> report

    def reports(self) -> list[Report]:
        """The ranks' answers. For a rank that does not answer, its last report; for a rank that has ended, its last report marked
        as `ended`.
        """
        asked = [each for each in attach.running() if each.job == self.name]
        for rank, report in attach.ask(asked):
            self._last[rank.pid] = report or self._last.get(rank.pid) or _unanswered(rank)
        here = {each.pid for each in asked}
        self._last = {pid: report if pid in here else {**report, "ended": True} for pid, report in self._last.items()}
        return sorted(self._last.values(), key=lambda each: each["rank"])


def _unanswered(rank: attach.Rank) -> Report:
    """The report of a rank that has never answered."""
    return {
        "rank": rank.rank, "size": 1, "host": "-", "pid": rank.pid, "time": 0.0, "began": 0.0, "ended": False, "cpu": 0.0,
        "memory": 0, "here": [], "worker": None, "waits": [], "counters": {},
    }  # fmt: skip


def find_job(name: str | None) -> Job:
    """A job by its directory or the beginning of its name, or the newest on this host; ValueError if there is none."""
    if name is not None and Path(name).is_dir():
        return Directory(Path(name))
    began: dict[str, float] = {}
    for rank, report in attach.ask(attach.running()):
        began[rank.job] = max(began.get(rank.job, 0.0), 0.0 if report is None else report["began"])
    jobs = sorted(began, key=lambda each: began[each])
    found = [each for each in jobs if name is None or each.startswith(name)]
    if not found:
        known = ", ".join(jobs) or "none"
        raise ValueError(
            f"no job {'' if name is None else repr(name)} of yours on this host (there are: {known}). A job can be watched "
            "on the host of its ranks, from `init_rpc` on (started by `mpigrad run`: from its start). If it runs on several "
            f"hosts, set {VARIABLE}=DIRECTORY for all its ranks, and give that directory"
        )
    return Attached(found[-1])


def write(job: Path, report: Report) -> None:
    """Write a rank's report, replacing its last one."""
    path = job / f"rank-{report['rank']}.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps(report))
    new.replace(path)
