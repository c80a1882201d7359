"""Measure how costs grow and draw it: ``python -m benchmarks.growth [--without torch] [--only CURVE ...] [--out DIR]``.

Against world size, contexts alive, calls in a context, depth of the graph and payload; nothing may grow faster than its own size.
The 5th percentiles count: growth is a property of the program, not of the machine's load. `--only` renews the named curves and
keeps the others of the last run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from pathlib import Path

from tqdm import tqdm

from benchmarks import plots
from benchmarks.bars import RESULTS
from benchmarks.compare import exponent
from benchmarks.job import Job, JobError
from benchmarks.report import in_units

WORLDS = (2, 4, 8, 16, 32)
CONTEXTS = (1, 16, 256, 2048)
CALLS = (100, 1_000, 10_000, 100_000)
DEPTHS = (1, 4, 16, 64, 256)
KIBIBYTES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
SECONDS = 0.5
DEADLINE = 240.0

# curve -> title, x axis, y axis
AXES = {
    "empty": ("Empty call", "ranks in the world", "seconds"),
    "one_step": ("One context: a remote add and its backward pass", "ranks in the world", "seconds"),
    "contexts": ("One context: a remote add and its backward pass", "contexts alive", "seconds"),
    "calls": ("One recorded call", "calls in the context", "seconds"),
    "call_bytes": ("Memory of one recorded call, both workers", "calls in the context", "bytes"),
    "depth": ("One remote add, forward and backward", "remote adds in the graph", "seconds"),
    "payload": ("Echo", "KiB", "seconds"),
}
Curves = dict[str, dict[str, dict[int, float]]]


def turns() -> list[tuple[int, str, str, int]]:
    """World size, curve, measure and size of each point, ordered by world size."""
    worlds = [(world, curve, curve, world) for world in WORLDS for curve in ("empty", "one_step")]
    # measured first: later measures would reuse memory that earlier ones have freed
    sizes = [(2, "call_bytes", f"call_bytes_{n}", n) for n in CALLS]
    sizes += [(2, "calls", f"calls_{n}", n) for n in CALLS]
    sizes += [(2, "contexts", f"contexts_{n}", n) for n in CONTEXTS]
    sizes += [(2, "depth", f"depth_{n}", n) for n in DEPTHS]
    sizes += [(2, "payload", f"payload_{n}", n) for n in KIBIBYTES]
    return sizes + worlds


def measure(contestants: list[str], most: int, only: list[str]) -> Curves:
    """Measure all points of some curves for all contestants; one job per world size and contestant, which is stopped while others
    are measured.
    """
    curves: Curves = {}
    jobs: dict[tuple[str, int], Job] = {}
    try:
        for world, curve, name, size in tqdm([turn for turn in turns() if turn[0] <= most and turn[1] in only], unit="point"):
            for contestant in contestants:
                settle(jobs, contestant, world)
                try:
                    if (contestant, world) not in jobs or not jobs[contestant, world].alive:
                        jobs[contestant, world] = Job(contestant, "growth", world)
                    found = jobs[contestant, world].ask(name, SECONDS, DEADLINE)["best"]
                    curves.setdefault(curve, {}).setdefault(contestant, {})[size] = found
                except JobError as error:
                    print(error, file=sys.stderr)
    finally:
        for job in jobs.values():
            job.close()
    return curves


def settle(jobs: dict[tuple[str, int], Job], contestant: str, world: int) -> None:
    """Close the jobs of other world sizes, and stop those of other contestants."""
    for key in list(jobs):
        if key[1] != world:
            jobs.pop(key).close()
        elif key[0] != contestant:
            jobs[key].freeze()


def main(words: list[str] | None = None) -> int:
    """Measure, write growth.json and one picture per curve, and print the exponents of growth."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--only", nargs="+", default=list(AXES), choices=list(AXES), metavar="CURVE", help="some curves")
    parser.add_argument("--most", type=int, default=WORLDS[-1], help="the largest world")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    curves = measure([c for c in ("torch", "mpigrad") if c not in arguments.without], arguments.most, arguments.only)
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = arguments.out / "growth.json"
    others = json.loads(kept.read_text()) if kept.exists() else {}
    kept.write_text(json.dumps({**others, **curves}, indent=1))
    for curve, series in curves.items():
        plots.lines(series, *AXES[curve], arguments.out / f"growth_{curve}.png")
        for contestant, points in series.items():
            grows = f"size^{exponent(points):.2f} at the end" if len(points) > 1 else "one point only"
            unit = "s" if AXES[curve][2] == "seconds" else "bytes"
            print(f"{curve:10} {contestant:8} {grows}:", {n: in_units(found, unit) for n, found in points.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
