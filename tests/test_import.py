"""`import mpigrad` is quick and touches nothing: no MPI, no GPU, and little of the standard library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, sys
import numpy
before = set(sys.modules)
import mpigrad
loaded = sorted(set(sys.modules) - before)
mpigrad.ones(2, requires_grad=True).sum().backward()
print(json.dumps(loaded))
"""
HEAVY = (
    "mpi4py",
    "cupy",
    "cupyx",
    "cloudpickle",
    "matplotlib",
    "torch",
    "scipy",
    "pickle",
    "inspect",
    "ssl",
    "asyncio",
    "logging",
)
LATE = (
    "mpigrad.distributed",
    "mpigrad.nn",
    "mpigrad.optim",
    "mpigrad.jit",
    "mpigrad.profiler",
    "numpy.random",
    "numpy.f2py",
)


@pytest.fixture(scope="module")
def loaded() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", HEAVY + LATE)
def test_is_not_loaded(loaded: list[str], name: str) -> None:
    found = [module for module in loaded if module == name or module.startswith(name + ".")]
    assert not found, f"`import mpigrad` loads {found}"


def test_little_of_the_standard_library(loaded: list[str]) -> None:
    others = {module.split(".")[0] for module in loaded} - {"mpigrad", "cython_runtime"}
    others = {name for name in others if not name.startswith("_cython_")}  # what compiled modules share, made in memory
    assert len(others) <= 8, f"`import mpigrad` loads more than it needs: {sorted(others)}"
