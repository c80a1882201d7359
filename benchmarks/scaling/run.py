"""Run the programs on real ranks of one machine: ``python -m benchmarks.scaling.run NAME VENV RANKS ...``.

NAME is the name of the MPI in the results, VENV its environment. Results of one name and number of ranks replace earlier ones in
benchmarks/results/scale.json. The ranks have low priority and long deadlines: there are many more of them than cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "scale.json"


def run(venv: str, ranks: int, seconds: int) -> dict[str, Any]:
    """Run one job; RuntimeError if it fails or does not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found.json"
        command = ["nice", "-n", "5", ROOT / "tools" / "mpirun.sh", venv, str(ranks), str(seconds)]
        environment = {**os.environ, "MPIGRAD_SCALE_BEGAN": str(time.time())}
        done = subprocess.run([*command, "-m", "benchmarks.scaling.rank", out], env=environment, cwd=ROOT, check=False)
        if done.returncode or not out.exists():
            raise RuntimeError(f"{ranks} ranks of {venv} ended with code {done.returncode}")
        return json.loads(out.read_text())


def keep(path: Path, name: str, found: dict[str, Any]) -> None:
    """Add a run to the results, in the place of an earlier one of the same kind."""
    runs = json.loads(path.read_text()) if path.exists() else []
    runs = [each for each in runs if (each["mpi"], each["ranks"]) != (name, found["ranks"])]
    runs.append({"mpi": name, "cores": os.cpu_count(), "date": time.strftime("%Y-%m-%d"), **found})
    runs.sort(key=lambda each: (each["mpi"], each["ranks"]))
    path.write_text(json.dumps(runs, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("venv")
    parser.add_argument("ranks", nargs="+", type=int)
    parser.add_argument("--seconds", type=int, default=1200, help="for each job (%(default)s)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    failed = []
    for ranks in args.ranks:
        try:
            keep(args.out, args.name, run(args.venv, ranks, args.seconds))
        except RuntimeError as error:
            failed.append(str(error))
    print("\n".join(failed), file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
