"""Fill in the tables of docs/clusters.md from measurements and simulations: tools/scaling.py [RESULTS | --keep]

RESULTS are those of `make bench` (benchmarks/results/latest.json), whose costs are kept in docs/costs.json; or of
`mpigrad bench --json` on a cluster: then the tables are printed and the page stays as it is. `--keep` leaves the costs as they
are. Memory was measured by tools/memory_of_calls.py and is written down here.
"""

from __future__ import annotations

import json
import math
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.compare import present, rounds_from_json, rounds_of, spread  # noqa: E402

PAGE = ROOT / "docs" / "clusters.md"
KEPT = ROOT / "docs" / "costs.json"
LATEST = ROOT / "benchmarks" / "results" / "latest.json"
SIMULATED = ROOT / "benchmarks" / "results" / "simulation.json"  # of benchmarks.scaling.simulate
RUN = ROOT / "benchmarks" / "results" / "scale.json"  # of benchmarks.scaling.run
RANKS = (64, 1024, 10_000)
SIMULATED_RANKS = (64, 1024, 10_000)
CALLER_KB, CALLEE_KB, NAME_KB = 1.1, 1.1, 0.19  # mpiexec -n 2 python tools/memory_of_calls.py


class Costs(NamedTuple):
    """The measured costs, named like the symbols on the page: seconds, and bytes a second for `B`; no formula uses `b`."""

    a: float
    o: float
    B: float
    b: float


def from_benchmarks(results: dict[str, Any]) -> Costs:
    """Medians of `make bench`; the echo of 64 MiB goes there and back."""
    rounds = rounds_from_json(results)

    def value(name: str) -> float:
        found = spread(present(rounds_of(rounds, name, "mpigrad")))
        if found is None:
            raise ValueError(f"the results have no {name!r} of mpigrad; run `make bench` without --only")
        return found.median

    return Costs(value("calls.empty"), value("calls.in_flight"), 2 * (64 << 20) / value("calls.echo_64"),
                 value("backward.remote_add"))  # fmt: skip


def from_bench_command(results: dict[str, Any]) -> Costs:
    """Medians of `mpigrad bench --json`."""
    kinds = {row["name"]: row for row in results["kinds"]}
    many = next(row for name, row in kinds.items() if name.startswith("rpc_async"))
    return Costs(kinds["rpc_sync, empty"]["median_us"] / 1e6, 1 / many["per_second"], results["sizes"][-1]["mb_s"] * 1e6,
                 kinds["forward and backward, 3x3"]["median_us"] / 1e6)  # fmt: skip


def time(seconds: float) -> str:
    """A duration with its unit, rounded to two digits: the model is not more accurate."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 100 else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.2g} s"


def memory(kilobytes: float) -> str:
    return f"{kilobytes / 1000:.2g} MB" if kilobytes >= 100 else f"{kilobytes:.2g} kB"


def costs_table(costs: Costs) -> list[str]:
    """The lines of the table of measured costs."""
    rows = (
        ("a", "call of an empty function by `rpc_sync`", time(costs.a)),
        ("o", "the same for each of 64 calls that are made at once by `rpc_async`", time(costs.o)),
        ("B", "bandwidth of a large tensor", f"{costs.B / 1e9:.2g} GB/s"),
        ("", "context, one call of a small tensor, backward, release", time(costs.b)),
        ("m", "memory of one recorded call of a 3x3 tensor, until its context is released",
         f"{CALLER_KB} kB at the caller, {CALLEE_KB} kB at the callee, plus the tensors"),
    )  # fmt: skip
    lines = (f"| {symbol and f'`{symbol}`'} | {what} | {value} |" for symbol, what, value in rows)
    return ["| symbol | what | measured |", "|---|---|---|", *lines]


MODEL: tuple[tuple[str, str, Callable[[Costs, int], str]], ...] = (
    ("call everyone once, from one worker", "(W-1)*o + a", lambda c, w: time((w - 1) * c.o + c.a)),
    ("the same through a tree of depth 2", "2*sqrt(W)*o + 2*a", lambda c, w: time(2 * math.sqrt(w) * c.o + 2 * c.a)),
    ("smallest step of one parameter server, 2 calls a worker", "2*W*o", lambda c, w: time(2 * w * c.o)),
    ("the same with 10 MB of parameters there and gradients back", "2*W*(o + 10 MB/B)",
     lambda c, w: time(2 * w * (c.o + 1e7 / c.B))),
    ("table of workers in each worker", f"{NAME_KB} kB * W", lambda c, w: memory(NAME_KB * w)),
)  # fmt: skip


def model_table(costs: Costs) -> list[str]:
    """The lines of the table of predictions for `RANKS` ranks."""
    head = "| | formula | " + " | ".join(f"{ranks:,} ranks" for ranks in RANKS) + " |"
    rows = [
        f"| {what} | `{formula}` | " + " | ".join(value(costs, ranks) for ranks in RANKS) + " |"
        for what, formula, value in MODEL
    ]
    return [head, "|---" * (2 + len(RANKS)) + "|", *rows]


def simulated_table(found: dict[str, Any]) -> list[str]:
    """The lines of the table of simulated phases: messages in sequence, most messages of one worker, and virtual time."""
    phases = {(each["name"], each["workers"]): each for each in found["phases"]}
    sizes = [size for size in SIMULATED_RANKS if any(key[1] == size for key in phases)]
    lines = ["| phase | " + " | ".join(f"{size:,} workers" for size in sizes) + " |", "|---" * (1 + len(sizes)) + "|"]
    for name in dict.fromkeys(key[0] for key in phases):
        cells = [_simulated(phases.get((name, size))) for size in sizes]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def _simulated(phase: dict[str, Any] | None) -> str:
    if phase is None:
        return ""
    counts = "" if phase["name"] == "start" else f"{phase['sequential']:,}; {phase['busiest']:,}; "
    return counts + time(phase["seconds"])


def run_table(runs: list[dict[str, Any]]) -> list[str]:
    """The lines of the table of real runs: seconds and messages of each step, and memory."""
    head = "| step | " + " | ".join(f"{run['ranks']} ranks, {run['mpi']}" for run in runs) + " |"
    lines = [head, "|---" * (1 + len(runs)) + "|"]
    for name in dict.fromkeys(step["name"] for run in runs for step in run["steps"]):
        steps = [next((step for step in run["steps"] if step["name"] == name), None) for run in runs]
        lines.append(f"| {name} | " + " | ".join(_step(step) for step in steps) + " |")
    memory_cells = [f"{run['memory']['resident'] / 1e6:.0f} MB; {run['memory']['share'] / 1e6:.0f} MB" for run in runs]
    return [*lines, "| memory of a rank; its share of it | " + " | ".join(memory_cells) + " |"]


def _step(step: dict[str, Any] | None) -> str:
    if step is None:
        return ""
    return time(step["seconds"]) + (f"; {step['messages']:,}" if "messages" in step else "")


def filled(page: str, costs: Costs, machine: str) -> str:
    """The page with its tables: from these costs, and from the simulations and runs in benchmarks/results."""
    said = textwrap.fill(f"Measured by `make bench`: {machine.rstrip('.')}. Medians.", 150, break_on_hyphens=False)
    simulated = simulated_table(json.loads(SIMULATED.read_text()))
    tables = {"costs": [*costs_table(costs), "", said], "model": model_table(costs), "simulated": simulated,
              "run": run_table(json.loads(RUN.read_text()))}  # fmt: skip
    for name, lines in tables.items():
        body = "\n".join(lines)
        page = re.sub(rf"<!-- {name} -->.*?<!-- end -->", f"<!-- {name} -->\n{body}\n<!-- end -->", page, flags=re.DOTALL)
    return page


def kept() -> tuple[Costs, str]:
    """The costs that the page shows, and the machine."""
    found = json.loads(KEPT.read_text())
    machine = found.pop("machine")
    return Costs(**found), machine


def main() -> None:
    if sys.argv[1:] == ["--keep"]:
        PAGE.write_text(filled(PAGE.read_text(), *kept()))
        return
    results = json.loads(Path(sys.argv[1] if len(sys.argv) > 1 else LATEST).read_text())
    if "kinds" in results:
        costs = from_bench_command(results)
        print("\n".join([*costs_table(costs), "", *model_table(costs)]))
    else:
        KEPT.write_text(json.dumps({"machine": results["machine"], **from_benchmarks(results)._asdict()}, indent=2) + "\n")
        PAGE.write_text(filled(PAGE.read_text(), *kept()))


if __name__ == "__main__":
    main()
