"""`mpigrad run` with the real launcher."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.commands import clean_environment, set_signals

PROGRAM = """
import os, signal, sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD

def f():
    pass

print("rank", comm.rank, "of", comm.size, sys.argv[1:], f.__module__)
if sys.argv[1] == "raise" and comm.rank == 1:
    raise KeyError("bad thing")
if sys.argv[1] == "exit" and comm.rank == 1:
    sys.exit(7)
if sys.argv[1] == "wait":
    comm.Barrier()
    if comm.rank == 0:
        print("ready")
    time.sleep(50)
if sys.argv[1] == "signal":
    got = []
    signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
    comm.Barrier()
    if comm.rank == 0:
        print("ready")
    end = time.monotonic() + 40
    while not got and time.monotonic() < end:
        time.sleep(0.02)
    print("signalled" if got else "nothing came")
if sys.argv[1] in ("raise", "exit"):
    time.sleep(50)
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    return "program.py"


def test_ranks_arguments_and_prefix(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "3", "--prefix", program, "a", "-n", "b")
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "rank" in line)
    assert lines == [f"[{rank}] rank {rank} of 3 ['a', '-n', 'b'] __main__" for rank in range(3)]


def test_a_failing_rank_ends_the_job(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", program, "raise")
    assert done.returncode != 0
    assert "mpigrad: rank 1 failed and ends the job:" in done.stderr
    assert "KeyError: 'bad thing'" in done.stderr
    assert "runpy" not in done.stderr


def test_exit_code_of_a_rank(python, program: str) -> None:
    assert python("-m", "mpigrad", "run", "-n", "2", program, "exit").returncode == 7


def test_module_and_show(python) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", "--show", "--option", "-x A", "-m", "package.train", "--lr", "1")
    assert done.returncode == 0, done.stderr
    assert " -n 2 -x A " in done.stdout
    assert done.stdout.strip().endswith("-m mpigrad._launch.rank -m package.train --lr 1")


def test_mistakes_are_explained(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2", "missing.py")
    assert (done.returncode, "'missing.py' is not a file" in done.stderr) == (2, True)
    done = python("-m", "mpigrad", "run", "-n", "0", program)
    assert (done.returncode, "at least 1, not 0" in done.stderr) == (2, True)
    done = python("-m", "mpigrad", "run", program, PMI_RANK="1", PMI_SIZE="4")
    assert (done.returncode, "rank 1 of a job of 4 ranks already" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "variables",
    [{"SLURM_JOB_ID": "7", "SLURM_NTASKS": "6", "SLURM_TASKS_PER_NODE": "3(x2)"}, {"PBS_NODEFILE": "nodes", "PBS_JOBID": "1.x"}],
)
def test_without_a_number_the_allocation_decides(python, program: str, tmp_path: Path, variables) -> None:
    (tmp_path / "nodes").write_text("a\na\na\nb\nb\nb\n")
    done = python("-m", "mpigrad", "run", "--show", program, **variables)
    assert " -n 6 " in done.stdout, done.stdout + done.stderr


def test_singletons_are_refused(python, program: str) -> None:
    done = python("-m", "mpigrad._launch.rank", program, "x", MPIGRAD_EXPECTED_SIZE="4")
    assert done.returncode == 1
    assert "started with 4 ranks, but MPI sees 1" in done.stderr


@pytest.mark.parametrize("place", ["rank=1, world_size=4", "rank=1"])
def test_srun_with_the_wrong_pmi_is_explained(python, place: str) -> None:
    """SLURM says rank 1 of 4, MPI says rank 0 of 1: a program that takes its place from SLURM must learn why."""
    step = {"SLURM_PROCID": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}
    done = python("-c", f"import mpigrad.distributed.rpc as rpc; rpc.init_rpc('worker1', {place})", **step)
    assert done.returncode != 0
    assert "started 4 ranks, but MPI sees a world of one" in done.stderr
    assert "With srun use --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH" in done.stderr


@pytest.fixture
def job(program: str, tmp_path: Path):
    """Run two ranks of the program; once they are ready call `then` with the process. Its code and what it wrote."""

    def run(what: str, then, ignored: tuple[signal.Signals, ...] = ()) -> tuple[int, list[str]]:
        command = [sys.executable, "-m", "mpigrad", "run", "-n", "2", "--prefix", program, what]
        lines = []
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: set_signals(ignored),
        ) as process:
            for line in process.stdout or ():
                lines.append(line.strip())
                if "ready" in line:
                    then(process)
        return process.returncode, lines

    return run


def test_signals_reach_the_ranks(job) -> None:
    code, lines = job("signal", lambda process: process.send_signal(signal.SIGUSR1))
    assert code == 0, lines
    assert {"[0] signalled", "[1] signalled"} <= set(lines), lines


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_that_end_the_job(job, number: signal.Signals) -> None:
    code, lines = job("wait", lambda process: process.send_signal(number))
    assert code != 0, lines


def test_signals_that_are_ignored_are_not_passed_on(job) -> None:
    """As nohup and the background jobs of shells want it."""
    ignored = (signal.SIGINT, signal.SIGHUP)

    def then(process: subprocess.Popen[str]) -> None:
        for number in ignored:
            process.send_signal(number)
        time.sleep(1)  # for a launcher that heard of them
        process.send_signal(signal.SIGUSR1)

    code, lines = job("signal", then, ignored)
    assert code == 0, lines
    assert {"[0] signalled", "[1] signalled"} <= set(lines), lines
