"""The directories in which the ranks of jobs write their reports for `mpigrad top`: one per job, readable by its user only."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VARIABLE = "MPIGRAD_TOP"

Report = dict[str, Any]


def base() -> Path:
    """The directory of this user's jobs on this host; ValueError if other users can write to it."""
    path = Path(tempfile.gettempdir()) / f"mpigrad-top-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ValueError(f"{path} belongs to another user, or others can write to it; remove it, or set {VARIABLE}=DIRECTORY")
    return path


def new_job(name: str) -> Path:
    """A new directory for a job."""
    path = base() / f"{Path(name).name}-{os.getpid()}"
    path.mkdir(mode=0o700)
    return path


def _running_jobs() -> Iterator[Path]:
    """The directories of jobs on this host; those of killed launchers are removed."""
    for path in base().iterdir():
        if os.path.exists(f"/proc/{path.name.rpartition('-')[2]}"):
            yield path
        else:
            shutil.rmtree(path, ignore_errors=True)


def find_job(name: str | None) -> Path:
    """A job by its directory or name, or the newest; ValueError if there is none."""
    if name is not None and os.path.isdir(name):
        return Path(name)
    jobs = sorted(_running_jobs(), key=lambda each: each.stat().st_mtime)
    found = [each for each in jobs if name is None or each.name.startswith(name)]
    if not found:
        known = ", ".join(each.name for each in jobs) or "none"
        raise ValueError(
            f"no job {'' if name is None else repr(name)} on this host that reports (there are: {known}); start it with "
            f"`mpigrad run --top`, or with {VARIABLE}=DIRECTORY in the environment of its ranks and give that directory"
        )
    return found[-1]


def write(job: Path, report: Report) -> None:
    """Leave a rank's report, in place of its last."""
    path = job / f"rank-{report['rank']}.json"
    new = path.with_suffix(".new")
    new.write_text(json.dumps(report))
    new.replace(path)


def read(job: Path) -> list[Report]:
    """The reports of a job's ranks."""
    reports = []
    for path in job.glob("rank-*.json"):
        try:
            reports.append(json.loads(path.read_text()))
        except FileNotFoundError:  # the job has just ended
            continue
    return sorted(reports, key=lambda each: each["rank"])
