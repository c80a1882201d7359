"""Starts jobs whose ranks may die: `mpigrad run --survive`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mpigrad._launch.launcher import mpi_library
from tests.support.commands import clean_environment

PROGRAMS = Path(__file__).parent / "programs"


def survivors(program: str, *arguments: str, ranks: int = 4, seconds: int = 60, **variables: str) -> str:
    """Run a program of this folder in a job that survives deaths, and return its output; fails unless the job ends well."""
    done = job(program, *arguments, ranks=ranks, seconds=seconds, **variables)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def job(
    program: str, *arguments: str, ranks: int, seconds: int, options: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of this folder on ranks that may die; returns the process when it has ended."""
    if not mpi_library().is_open_mpi or mpi_library().version.startswith("4"):
        pytest.skip("only Open MPI 5 keeps a job alive when a rank dies")
    command = [sys.executable, "-m", "mpigrad", "run", "--survive", "-n", str(ranks), *options]
    environment = {**clean_environment(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        ["timeout", "-k", "5", str(seconds), *command, str(PROGRAMS / program), *arguments], env={**environment, **variables},
        capture_output=True, text=True, timeout=seconds + 15,
    )  # fmt: skip
