"""`mpigrad.multiprocessing.spawn`, started plainly and under a launcher."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mpigrad.multiprocessing as mp
from mpigrad._launch.command import job_for
from mpigrad._launch.launcher import find_launcher
from tests.cli.conftest import clean_environment

PROGRAM = """
import os, sys, time
import mpigrad.multiprocessing as mp

def work(rank, what):
    from mpi4py import MPI
    print("rank", rank, "of", MPI.COMM_WORLD.size, what)
    if what == "raise" and rank == 1:
        raise KeyError("bad thing")
    if what == "exit" and rank == 1:
        os._exit(3)
    if what != "fine":
        time.sleep(50)

if __name__ == "__main__":
    try:
        mp.spawn(work, args=(sys.argv[1],), nprocs=2)
        print("joined")
    except mp.ProcessRaisedException as error:
        print("raised on", error.error_index, "Process 1 terminated with the following error" in str(error))
    except mp.ProcessExitedException as error:
        print("exited with", error.exit_code)
"""


@pytest.fixture
def program(tmp_path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return "program.py"


def test_plain_program_starts_its_ranks(python, program: str) -> None:
    done = python(program, "fine")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert sorted(lines[:2]) == ["rank 0 of 2 fine", "rank 1 of 2 fine"], done.stderr
    assert lines[2:] == ["joined"]
    assert "Warning" not in done.stderr


def test_exception_comes_back(python, program: str) -> None:
    done = python(program, "raise")
    assert "raised on 1 True" in done.stdout, done.stdout + done.stderr
    assert "KeyError: 'bad thing'" in done.stderr


def test_exit_code_comes_back(python, program: str) -> None:
    assert "exited with 3" in python(program, "exit").stdout


def test_under_mpiexec_itself(program: str, tmp_path) -> None:
    job = job_for(find_launcher(), 2, [sys.executable, program, "fine"])
    environment = {**job.environment, **clean_environment()}
    done = subprocess.run(job.command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=55)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert sorted(lines) == ["joined", "joined", "rank 0 of 2 fine", "rank 1 of 2 fine"], done.stderr


def test_under_a_launcher_it_runs_here(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "fine", MASTER_ADDR="localhost", MPIGRAD_LOG="debug")
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert sorted(lines) == ["joined", "joined", "rank 0 of 2 fine", "rank 1 of 2 fine"], done.stderr
    assert done.stderr.count("spawn: MASTER_ADDR=localhost is ignored") == 2


def test_number_of_ranks_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(ValueError, match="nprocs=2, but this job was launched with 3 ranks"):
        mp.spawn(print, nprocs=2)


def test_pythons_own_names_are_there() -> None:
    import multiprocessing

    assert mp.Queue is multiprocessing.Queue
    assert set(multiprocessing.__all__) <= set(dir(mp))
