"""Draw the simulated and the real runs for the documentation: ``python -m benchmarks.scaling.plot``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.scaling.run import RESULTS as RANKS
from benchmarks.scaling.simulate import RESULTS as SIMULATED

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
DRAWN = ("calls from one worker to each", "call to a group", "group: backward", "group: release", "an RRef to all workers",
         "shutdown", "loss of a worker")  # fmt: skip


def simulated(phases: list[dict[str, Any]]) -> dict[str, dict[int, float]]:
    """Messages on the critical path, by phase and number of workers."""
    phases = sorted(phases, key=lambda each: each["workers"])
    return {name: {each["workers"]: each["sequential"] for each in phases if each["name"] == name} for name in DRAWN}


def real(runs: list[dict[str, Any]], mpi: str) -> dict[str, dict[int, float]]:
    """Seconds, by step and number of ranks."""
    chosen = [run for run in runs if run["mpi"] == mpi]
    found: dict[str, dict[int, float]] = {}
    for run in chosen:
        for step in run["steps"]:
            if step["name"] in ("start", *DRAWN):
                found.setdefault(step["name"], {})[run["ranks"]] = step["seconds"]
    return found


def main() -> None:
    phases = json.loads(SIMULATED.read_text())["phases"]
    plots.lines(simulated(phases), "Simulated", "workers", "messages in sequence", PICTURES / "simulated.png")
    runs = json.loads(RANKS.read_text())
    mpi = "openmpi" if any(run["mpi"] == "openmpi" for run in runs) else runs[0]["mpi"]
    plots.lines(real(runs, mpi), f"Ranks on {runs[0]['cores']} cores, {mpi}", "ranks", "seconds", PICTURES / "ranks.png")


if __name__ == "__main__":
    main()
