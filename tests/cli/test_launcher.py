"""Finding the launcher, reading allocations, and the environment of a job."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mpigrad._launch import command
from mpigrad._launch.allocation import current_allocation, expand_counts
from mpigrad._launch.launcher import Launcher, LauncherError, Library, belongs, find_launcher, mpi_library
from mpigrad._launch.process import relabel
from mpigrad._process.rank import launched_rank, launched_size

OPEN_MPI = Launcher("/x/mpiexec", "test", Library("Open MPI", "5.0.11", "/x/libmpi.so"))
MPICH = Launcher("/x/mpiexec", "test", Library("MPICH", "5.0.2", "/x/libmpi.so"))


@pytest.fixture(autouse=True)
def outside_any_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("SLURM_", "PBS_", "OMPI_", "PMI", "PRTE_", "MPIGRAD_", "OMP_", "OPENBLAS_", "MKL_")):
            monkeypatch.delenv(name)


def test_launcher_is_the_librarys_own() -> None:
    launcher = find_launcher()
    library = Path(mpi_library().path or "")
    assert Path(launcher.path).parent.parent in library.parents
    assert os.access(launcher.path, os.X_OK)


def test_launcher_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPIGRAD_MPIEXEC", sys.executable)
    assert find_launcher().path == sys.executable
    monkeypatch.setenv("MPIGRAD_MPIEXEC", "/no/such/mpiexec")
    with pytest.raises(LauncherError, match="'/no/such/mpiexec' is not a program"):
        find_launcher()


@pytest.mark.parametrize(
    ("text", "vendor", "answer"),
    [
        ("mpiexec (Open MPI) 5.0.11", "Open MPI", True),
        ("HYDRA build details:\n Version: 5.0.2", "Open MPI", False),
        ("HYDRA build details:\n Version: 5.0.2", "MPICH", True),
        ("mpirun (Open MPI) 4.1.6", "MPICH", False),
        ("Intel(R) MPI Library for Linux", "Intel MPI", True),
    ],
)
def test_other_mpis_are_refused(text: str, vendor: str, answer: bool) -> None:
    assert belongs(text, Library(vendor, "1", None)) is answer


def test_slurm_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_allocation() is None
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "4(x2),3")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    assert current_allocation() == ("SLURM", "7", 11, 3)
    assert command.default_ranks() == 11


def test_pbs_allocation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\nb\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    monkeypatch.setenv("PBS_JOBID", "12.head")
    assert current_allocation() == ("PBS", "12.head", 4, 2)
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "gone"))
    with pytest.raises(ValueError, match="cannot be read"):
        current_allocation()


def test_bad_counts_are_named() -> None:
    with pytest.raises(ValueError, match="'x4' in '2,x4'"):
        expand_counts("2,x4")


def test_open_mpi_may_oversubscribe_and_run_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ranks = command.available_cores() + 1
    environment = command.job_for(OPEN_MPI, ranks, ["true"]).environment
    assert environment["PRTE_MCA_rmaps_default_mapping_policy"] == ":oversubscribe"
    assert environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == environment["PRTE_ALLOW_RUN_AS_ROOT"] == "1"
    assert environment["OMP_NUM_THREADS"] == "1"
    few = command.job_for(OPEN_MPI, 1, ["true"]).environment
    assert "PRTE_MCA_rmaps_default_mapping_policy" not in few
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in command.job_for(MPICH, ranks, ["true"]).environment


def test_the_users_settings_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "13")
    environment = command.job_for(OPEN_MPI, 2, ["true"]).environment
    assert environment["OMP_NUM_THREADS"] == "13"
    assert "MKL_NUM_THREADS" not in environment


def test_commands() -> None:
    assert command.job_for(MPICH, 3, ["p"], tagged=True).command == ["/x/mpiexec", "-n", "3", "-prepend-rank", "p"]
    words = command.job_for(OPEN_MPI, 3, ["p"], options=["--y"]).command
    assert (words[:5], words[-1]) == (["/x/mpiexec", "-n", "3", "--y", "-x"], "p")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        command.job_for(MPICH, 0, ["p"])


@pytest.mark.parametrize(
    ("line", "expected"),
    [("[job@1,12]<stderr>: a: b", "[12] a: b"), ("3: text", "[3] text"), ("[0] text", "[0] text"), ("x", "x")],
)
def test_tags_have_one_form(line: str, expected: str) -> None:
    assert relabel(line) == expected


def test_rank_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert launched_rank() is launched_size() is None
    monkeypatch.setenv("SLURM_PROCID", "0")  # a batch script has this too, without a step
    assert launched_rank() is None
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "6")
    assert (launched_rank(), launched_size()) == (0, 6)
    monkeypatch.setenv("PMI_RANK", "2")
    monkeypatch.setenv("PMI_SIZE", "5")
    assert (launched_rank(), launched_size()) == (2, 5)


def test_open_mpi_is_told_what_ranks_on_other_hosts_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts them by ssh, which does not pass the environment on."""
    monkeypatch.setenv("MPIGRAD_LOG", "debug")
    monkeypatch.setenv("PYTHONPATH", "/there")
    monkeypatch.setenv("OTHER", "1")
    words = command.job_for(OPEN_MPI, 2, ["program"]).command
    exported = {after for word, after in zip(words, words[1:]) if word == "-x"}
    assert {"MPIGRAD_LOG", "MPIGRAD_EXPECTED_SIZE", "PYTHONPATH", "OMP_NUM_THREADS"} <= exported
    assert "OTHER" not in exported and words[-1] == "program"
    assert "-x" not in command.job_for(MPICH, 2, ["program"]).command
    assert "-x" not in command.job_for(OPEN_MPI._replace(path="/usr/bin/srun"), 2, ["program"]).command
