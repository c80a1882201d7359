"""The rules of tests/conftest.py, tried on small suites that break them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDE = {**os.environ, "COLUMNS": "200"}  # pytest cuts the lines of its summary otherwise


@pytest.fixture
def suite(tmp_path: Path):
    """Run a test file under the project's conftest, on ranks of this environment's MPI; returns code and output."""
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    shutil.copytree(ROOT / "tests" / "support", tmp_path / "tests" / "support")
    for name in ("__init__.py", "conftest.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")

    def run(text: str, ranks: int = 0, *options: str) -> tuple[int, str]:
        (tmp_path / "tests" / "test_it.py").write_text("import pytest, threading, time, warnings\n" + text)
        pytest_command = ["-m", "pytest", "--color=no", "-p", "no:cacheprovider", *options, "tests"]
        launcher = [str(ROOT / "tools" / "mpirun.sh"), sys.prefix, str(ranks), "40"] if ranks else [sys.executable]
        command = [*launcher, *pytest_command, *(["--with-mpi"] if ranks else [])]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, env=WIDE)
        return done.returncode, done.stdout + done.stderr

    return run


def test_failure_on_one_rank_is_everyones(suite) -> None:
    code, output = suite(
        """
@pytest.mark.mpi
def test_assert_on_one(world):
    assert world.rank != 1, "only here"

@pytest.mark.mpi
def test_barrier_without_the_failed(world):
    assert world.rank != 1, "before the barrier"
    world.barrier()

@pytest.mark.mpi
def test_blocked_for_ever(world):
    assert world.rank != 0, "the others wait"
    threading.Event().wait()

@pytest.fixture
def broken(world):
    assert world.rank != 1, "in the fixture"

@pytest.mark.mpi
def test_setup_on_one(broken):
    pass

@pytest.mark.mpi
def test_skip_on_one(world):
    if world.rank:
        pytest.skip("not here")

@pytest.mark.mpi
def test_good(world):
    assert world.gather(world.rank) == [0, 1]
""",
        2,
    )
    assert code != 0
    assert "4 failed, 1 passed, 1 error" in output, output
    assert "test_assert_on_one - failed on rank(s) [1] of 2: AssertionError: only here" in output, output
    assert "test_barrier_without_the_failed - failed on rank(s) [1] of 2" in output, output
    assert "the ranks disagree on skipping" in output, output
    assert "PASSED" not in output.split("short test summary")[1]


def test_deadline_without_mpi(suite) -> None:
    code, output = suite("@pytest.mark.deadline(1)\ndef test_sleeper():\n    time.sleep(1000)\n")
    assert code != 0
    assert "in test_sleeper" in output, output
    assert "FAILED tests/test_it.py::test_sleeper" in output, output


def test_different_collections_are_refused(suite) -> None:
    code, output = suite(
        """
import os
rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK", 0)))

@pytest.mark.mpi
@pytest.mark.parametrize("n", [rank])
def test_each_its_own(n):
    pass
""",
        2,
    )
    assert code != 0
    assert "rank 1 collected tests/test_it.py::test_each_its_own[1] where rank 0 collected" in output, output


def test_leaks_and_warnings_are_errors(suite) -> None:
    code, output = suite(
        """
def test_leak():
    threading.Thread(target=time.sleep, args=(7,), name="leaky").start()

def test_warning():
    warnings.warn("careful")

@pytest.mark.mpi
def test_needs_ranks(world):
    assert False
"""
    )
    assert code == 1
    assert "thread 'leaky' is still running after the test" in output, output
    assert "1 failed, 1 passed, 1 skipped, 1 error" in output, output
