"""`mpigrad top`: shows the activity of all ranks of a job in a terminal."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from mpigrad._watchdog.jobs import Job, Report, find_job

LATE_SECONDS = 5.0
LONG_SECONDS = 1.0
HOME, REST, LINE_END = "\x1b[H", "\x1b[J", "\x1b[K\n"
EPILOG = """\
Shows any job of yours whose ranks run on this host, however it was started. For a job on several hosts set
MPIGRAD_TOP=DIRECTORY for all its ranks, a directory that the hosts share. Ctrl-C ends the view, not the job.

  mpigrad top                  the newest job on this host
  mpigrad top train.py-4711    a job, by name: its program, and the process that has started it
  mpigrad top --once DIRECTORY one table of a job on several hosts
"""


def add_parser(commands: Any) -> None:
    """Declare the command-line arguments of `mpigrad top`."""
    parser = commands.add_parser(
        "top",
        help="show what the ranks of a running job are doing",
        description="Show what the ranks of a running job are doing, in a table that is updated until the job ends.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("job", nargs="?", metavar="JOB", help="name or directory of a job; by default the newest")
    parser.add_argument("--once", action="store_true", help="print one table and exit (also if the output is not a terminal)")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S", help="seconds between two updates (1)")
    parser.set_defaults(action=top)


def top(args: argparse.Namespace) -> int:
    """Show the job until it ends."""
    job = find_job(args.job)
    if args.once or not sys.stdout.isatty():
        print(*table(job.name, job.reports(), time.time()), sep="\n")
        return 0
    try:
        watch(job, args.seconds)
    except KeyboardInterrupt:
        print()
    return 0


def watch(job: Job, seconds: float) -> None:
    """Redraw the table until the job has ended."""
    sys.stdout.write(HOME + REST)
    while True:
        reports = job.reports()
        width, height = shutil.get_terminal_size()
        lines = [line[: width - 1] for line in table(job.name, reports, time.time())[: height - 1]]
        sys.stdout.write(HOME + LINE_END.join([*lines, ""]) + REST)
        sys.stdout.flush()
        if reports and all(each["ended"] for each in reports):
            return
        time.sleep(seconds)


COLUMNS = ("rank", "worker", "host", "pid", "report", "cores", "MB", "calls", "serves", "contexts", "passes", "RRefs")


def table(name: str, reports: Sequence[Report], now: float) -> list[str]:
    """The table of ranks, one line each, and the list of calls that ranks wait for."""
    if not reports:
        return [f"{name}  no rank has reported yet"]
    size = max(each["size"] for each in reports)
    rows = [COLUMNS, *(_row(each, now) for each in reports)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    clock = time.strftime("%H:%M:%S", time.localtime(now))
    missing = sorted(set(range(size)) - {each["rank"] for each in reports})
    lines = [f"{name}  {len(reports)} of {size} ranks report  {clock}", ""]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]
    if missing:
        who = ", ".join(map(str, missing))
        lines += ["", f"no report of rank(s) {who}: not started yet, or on another host"]
    return [*lines, *_waits(reports, now)]


def _age(report: Report, now: float) -> float:
    return max(0.0, now - report["time"])


def _row(report: Report, now: float) -> tuple[str, ...]:
    counters = report["counters"]
    late = _age(report, now) > LATE_SECONDS
    age = f"{_age(report, now):.0f} s ago{'!' if late else ''}" if report["time"] else "none!"
    state = "ended" if report["ended"] else age
    counted = ("agent.client_active_calls", "agent.server_active_calls", "num_autograd_contexts", "num_current_backward_passes")
    return (
        str(report["rank"]), report["worker"] or "-", report["host"], str(report["pid"]), state, f"{report['cpu']:.1f}",
        f"{report['memory'] / 1e6:.0f}", *(str(counters.get(name, "-")) for name in counted),
        counters.get("num_owner_rrefs", "-"),
    )  # fmt: skip


def _waits(reports: Sequence[Report], now: float) -> list[str]:
    """Long waits between ranks, ranks that do not report, and the position of each rank in the program."""
    by_rank = {each["rank"]: each for each in reports}

    def name(rank: int) -> str:
        return str((by_rank[rank]["worker"] if rank in by_rank else None) or f"rank {rank}")

    lines = []
    for each in reports:
        for wait in each["waits"]:
            if wait["seconds"] is None or wait["seconds"] > LONG_SECONDS:
                since = "" if wait["seconds"] is None else f" for {wait['seconds']:.0f} s"
                lines.append(f"{name(each['rank'])} waits{since} for {wait['function']} on {name(wait['rank'])}")
        if not each["ended"] and _age(each, now) > LATE_SECONDS:
            lines.append(f"{name(each['rank'])} does not report: it is dead, stopped, or stuck outside of Python")
    circles = _circles({each["rank"]: [wait["rank"] for wait in each["waits"]] for each in reports})
    lines += [f"deadlock, these workers wait for each other: {', '.join(map(name, circle))}" for circle in circles]
    places = [f"{name(each['rank'])} is at {', '.join(each['here'])}" for each in reports if each["here"] and not each["ended"]]
    return [line for part in (lines, places) if part for line in ("", *part)]


def _circles(waits: dict[int, list[int]]) -> list[list[int]]:
    """Cycles of ranks whose oldest calls wait for each other, each once."""
    found: list[list[int]] = []
    for start in waits:
        path = [start]
        while (oldest := waits.get(path[-1], [])) and oldest[0] not in path:
            path.append(oldest[0])
        if oldest and oldest[0] == start and sorted(path) not in found:
            found.append(sorted(path))
    return found
