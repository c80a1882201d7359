"""The command `mpigrad doctor`: examines the machine, runs a short job and reports problems."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
from typing import Any

from mpigrad._cli.doctor import machine, page, probe
from mpigrad._cli.doctor.findings import findings
from mpigrad._launch.command import default_ranks, job_for, rank_program
from mpigrad._launch.launcher import LauncherError, find_launcher
from mpigrad._process.rank import launched_rank, launched_size


def add_parser(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare the command-line arguments of `mpigrad doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="examine the MPI set-up, and say what to do about each problem",
        description="Examine the MPI set-up with a short test job, and say what to do about each problem. The exit code is 1 if "
        "there is one.",
    )
    parser.add_argument("-n", "--ranks", type=int, metavar="N", help="ranks of the test job (those of the allocation, or 2)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--seconds", type=float, default=60, help="time limit for the test job (%(default)s)")
    parser.set_defaults(action=run)


def _run_job(ranks: int, seconds: float) -> dict[str, Any]:
    """Run the test job; returns its answer, or the reason why there is none."""
    try:
        launcher = find_launcher()
    except LauncherError as error:
        return {"job": None, "job_error": str(error), "job_command": "mpiexec"}
    job = job_for(launcher, ranks, rank_program("-m", "mpigrad._cli.doctor.probe"))
    answer: dict[str, Any] = {"job": None, "job_error": None, "job_command": shlex.join(job.command)}
    try:
        done = subprocess.run(job.command, env=job.environment, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {**answer, "job_error": f"no answer within {seconds:.0f} s"}
    answers = [line for line in done.stdout.splitlines() if probe.MARK in line]
    if answers:
        return {**answer, "job": json.loads(answers[0].partition(probe.MARK)[2])}
    words = (done.stderr or done.stdout).strip().splitlines()[-12:]
    return {**answer, "job_error": f"exit code {done.returncode}: " + "\n    ".join(words)}


def _examine(args: argparse.Namespace) -> dict[str, Any] | None:
    """All facts, from a new job, or from the job in which this process is a rank (then only rank 0 returns
    them, the others None)."""
    size = launched_size()
    if size is not None:
        job = probe.look()
        if launched_rank() != 0:
            return None
        facts = {"job": job, "job_error": None, "job_command": "", "in_place": True, "asked_ranks": size}
    else:
        ranks = args.ranks or max(2, default_ranks() if machine.current_allocation() else 2)
        facts = {**_run_job(ranks, args.seconds), "in_place": False, "asked_ranks": ranks}
    return {"machine": machine.describe(), **facts}


def run(args: argparse.Namespace) -> int:
    """Print the report; the exit code is 1 if there are errors."""
    facts = _examine(args)
    if facts is None:
        return 0
    found = findings(facts)
    if args.json:
        print(json.dumps({**facts, "findings": [finding._asdict() for finding in found]}, indent=2))
    else:
        print(page.render(facts, found))
    return int(any(finding.level == "error" for finding in found))
