"""The pytest plugin for users of mpigrad, tried on a small test suite."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from mpigrad.testing._ranks.job import OnRanks
from tests.support.commands import ROOT, clean_environment

pytestmark = pytest.mark.deadline(200)  # two starts of Python on ranks, on machines that may be busy
SECONDS = 180

SUITE = """
import sys, time
import pytest

def test_usual():
    assert "mpi4py.MPI" not in sys.modules

@pytest.mark.mpigrad
def test_directory(tmp_path, mpi_world):
    assert len(set(mpi_world.gather(str(tmp_path)))) == 2

@pytest.mark.mpigrad(rpc={"rpc_timeout": 7})
def test_call(rpc_world):
    import mpigrad.distributed.rpc as rpc
    assert rpc.get_rpc_timeout() == 7
    assert rpc.rpc_sync(rpc_world.next_name, divmod, args=(7, 2)) == (3, 1)

def test_usual_in_between():
    assert "mpi4py.MPI" not in sys.modules

@pytest.mark.mpigrad(min_size=3)
def test_larger():
    pass

def test_one_rank_fails(rpc_world):
    assert rpc_world.rank != 1, "only here"

@pytest.mark.mpigrad(deadline=1)
def test_hang(rpc_world):
    import mpigrad.distributed.rpc as rpc
    if rpc_world.rank == 0:
        rpc.rpc_sync(rpc_world.next_name, napping, timeout=0)

def napping():
    time.sleep(1000)
"""
PAGE = "guides/testing.md"


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., str]:
    """Run the suite with options; returns its output."""
    (tmp_path / "test_it.py").write_text(SUITE)
    page = (ROOT / "docs" / PAGE).read_text()
    (tmp_path / "test_a_page.py").write_text(page.split("```python\n")[1].split("```")[0])
    common = (sys.executable, "-m", "pytest", "-p", "pytest_mpigrad", "-p", "no:cacheprovider", "--color=no", "-rA", "-Werror")
    environment = {**clean_environment(), "COLUMNS": "200"}

    def run(*options: str, **variables: str) -> str:
        command, changed = [*common, *options], {**environment, **variables}
        return subprocess.run(command, cwd=tmp_path, env=changed, capture_output=True, text=True, timeout=SECONDS).stdout

    return run


def test_an_mpi_that_allows_one_thread_at_a_time_is_enough(suite: Callable[..., str]) -> None:
    output = suite("--mpigrad", "2", "-k", "test_call or test_one_rank_fails", MPI4PY_RC_THREAD_LEVEL="serialized")
    assert "1 failed, 1 passed" in output, output
    assert "failed on rank(s) [1] of 2: AssertionError: only here" in output


def test_tests_run_on_ranks_with_one_verdict(suite: Callable[..., str]) -> None:
    output = suite("--mpigrad", "2")
    assert "2 failed, 6 passed, 1 skipped" in output, output
    assert "FAILED test_it.py::test_one_rank_fails - failed on rank(s) [1] of 2: AssertionError: only here" in output
    assert "FAILED test_it.py::test_hang - it did not finish in time; the output of the ranks:" in output
    assert "rank 0: test_it.py::test_hang did not finish in time: it is in its call\n---- it waits for napping on" in output
    assert "serves another worker:" in output and "in napping" in output
    assert "needs 3 ranks: pytest --mpigrad 3" in output


def test_without_the_option_nothing_is_imported_and_ranks_are_missed(tmp_path: Path, suite: Callable[..., str]) -> None:
    with open(tmp_path / "conftest.py", "w") as file:
        file.write("import sys\ndef pytest_sessionfinish():\n    assert not {'mpigrad', 'numpy', 'mpi4py'} & set(sys.modules)\n")
    output = suite("test_it.py")
    assert "2 passed, 5 skipped" in output, output
    assert "needs ranks: pytest --mpigrad N" in output


@pytest.mark.parametrize("option", ["numprocesses", "usepdb"])
def test_options_that_cannot_be_combined_are_refused(option: str) -> None:
    config = SimpleNamespace(getoption=lambda name, default=None: name == option)
    with pytest.raises(pytest.UsageError, match="--mpigrad"):
        OnRanks(config, 2)  # type: ignore[arg-type]
