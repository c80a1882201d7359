"""`mpigrad.multiprocessing.spawn`, started plainly and under a launcher."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys

import pytest

import mpigrad.multiprocessing as mp
from mpigrad._launch.command import job_for
from mpigrad._launch.launcher import find_launcher
from mpigrad.multiprocessing._task import Failure, _leave, marks
from tests.support.commands import clean_environment, set_signals
from tests.support.eventually import eventually

PROGRAM = """
import os, signal, sys, time
import mpigrad.multiprocessing as mp

def work(rank, what):
    from mpi4py import MPI
    print("rank", rank, "of", MPI.COMM_WORLD.size, what)
    time.sleep(0.5 if what in ("vanish", "killed") else 0)  # deaths are seen some times a second
    if what == "raise" and rank == 1:
        raise KeyError("bad thing")
    if what == "exit" and rank == 1:
        sys.exit(3)
    if what == "vanish" and rank == 1:
        os._exit(3)
    if what == "killed" and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if what != "fine":
        time.sleep(50)

if __name__ == "__main__":
    try:
        mp.spawn(work, args=(sys.argv[1],), nprocs=2)
        print("joined")
    except mp.ProcessRaisedException as error:
        print("raised on", error.error_index, "Process 1 terminated with the following error" in str(error))
    except mp.ProcessExitedException as error:
        print(error, error.error_index, error.error_pid > 0, error.exit_code, error.signal_name)
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


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("exit", "process 1 terminated with exit code 3 1 True 3 None"),
        ("vanish", "process 1 terminated with exit code 3 1 True 3 None"),
        ("killed", "process 1 terminated with signal SIGKILL 1 True -9 SIGKILL"),
    ],
)
def test_the_rank_that_ended_is_named(python, program: str, what: str, said: str) -> None:
    done = python(program, what)
    assert said in done.stdout, done.stdout + done.stderr


LATER = """
import os, sys, threading, time, traceback
import mpigrad.multiprocessing as mp

def work(rank, seconds):
    print("pid", os.getpid())
    time.sleep(seconds)
    print("slept")

def tell_when_it_waits(context):
    main = threading.main_thread().ident
    while not any(frame.filename.endswith("_deaths.py") for frame in traceback.extract_stack(sys._current_frames()[main])):
        time.sleep(0.01)
    print("begun", *context.pids())

if __name__ == "__main__":
    context = mp.spawn(work, args=(float(sys.argv[2]),), nprocs=2, join=False, daemon=sys.argv[1] == "daemon")
    print("first look", context.join(0.01))
    while len(context.pids()) < 2:
        time.sleep(0.01)
    if sys.argv[1] != "interrupted":
        print("begun", *context.pids())
    if sys.argv[1] == "join":
        print("end", context.join(), context.join(), len(context.pids()))
    if sys.argv[1] == "interrupted":
        threading.Thread(target=tell_when_it_waits, args=(context,)).start()
        try:
            context.join()
        except KeyboardInterrupt:
            print("interrupted")
"""


@pytest.fixture
def later(tmp_path):
    """Start a program that joins its ranks later or not at all; the process and, once they have begun, their ids."""
    (tmp_path / "later.py").write_text(LATER)

    def run(what: str, seconds: float, ignored: tuple[signal.Signals, ...] = ()):
        process = subprocess.Popen(
            [sys.executable, "later.py", what, str(seconds)],
            cwd=tmp_path,
            env={**clean_environment(), "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: set_signals(ignored),
        )
        started.append(process)
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("begun"):
                return process, [int(word) for word in line.split()[1:]]
        raise AssertionError("the ranks did not begin")

    started: list[subprocess.Popen[str]] = []
    yield run
    for process in started:
        process.kill()
        process.communicate()


def all_end(pids: list[int]) -> None:
    assert len(pids) == 2
    eventually(lambda: [pid for pid in pids if os.path.exists(f"/proc/{pid}")], equals=[])


def test_join_later(later, tmp_path) -> None:
    process, _ = later("join", 0)
    output = process.communicate(timeout=50)[0]
    assert process.returncode == 0
    assert output.split("end ")[1].split() == ["True", "True", "2"]
    assert not list(tmp_path.glob("mpigrad-spawn-*"))


def test_a_job_that_nobody_joins_is_waited_for(later, tmp_path) -> None:
    process, pids = later("nothing", 1)
    output = process.communicate(timeout=50)[0]
    assert (process.returncode, output.count("slept")) == (0, 2)
    all_end(pids)
    assert not list(tmp_path.glob("mpigrad-spawn-*"))


def test_daemons_end_with_the_program(later) -> None:
    process, pids = later("daemon", 50)
    assert "slept" not in process.communicate(timeout=40)[0]
    all_end(pids)


def test_an_interrupt_reaches_ranks_and_program(later, tmp_path) -> None:
    process, pids = later("interrupted", 50)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=40)[0]
    all_end(pids)
    assert not list(tmp_path.glob("mpigrad-spawn-*"))


def test_interrupts_that_are_ignored_end_nothing(later) -> None:
    process, pids = later("interrupted", 2, (signal.SIGINT,))
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=40)[0]
    assert (process.returncode, output.count("slept"), "interrupted" in output) == (0, 2, False)
    all_end(pids)


def test_ranks_do_not_outlive_a_program_that_is_killed(later) -> None:
    process, pids = later("interrupted", 50)
    process.kill()
    all_end(pids)


def test_the_first_failure_counts(tmp_path) -> None:
    """Ranks that fail because another has failed are not reported as the cause, even if their rank is lower."""
    for rank, when in ((1, 1), (0, 2)):
        _leave(tmp_path, "failure", rank, Failure(10 + rank, f"error {rank}", 1))
        os.utime(tmp_path / f"failure.{rank}", (when, when))
    assert list(marks(tmp_path, "failure")) == [1, 0]


def test_start_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(ValueError, match="cannot find context for 'nonsense'"):
        mp.start_processes(print, nprocs=2, start_method="nonsense")
    with pytest.warns(FutureWarning, match="only supports start_method=spawn .got: fork."), pytest.raises(ValueError):
        mp.spawn(print, nprocs=2, start_method="fork")
    with pytest.warns(UserWarning, match="SpawnContext is renamed to ProcessContext"):
        mp.SpawnContext(None)


def test_errors_travel() -> None:
    error = pickle.loads(pickle.dumps(mp.ProcessExitedException("text", 1, 7, -9, "SIGKILL")))
    assert (error.msg, error.error_index, error.error_pid, error.exit_code, error.signal_name) == (
        "text",
        1,
        7,
        -9,
        "SIGKILL",
    )
    raised = pickle.loads(pickle.dumps(mp.ProcessRaisedException("text", 1, 7)))
    assert (str(raised), raised.error_index, raised.error_pid) == ("text", 1, 7)


def test_under_mpiexec_itself(program: str, tmp_path) -> None:
    job = job_for(find_launcher(), 2, [sys.executable, program, "fine"])
    environment = {**job.environment, **clean_environment()}
    done = subprocess.run(job.command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=55)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert sorted(lines) == ["joined", "joined", "rank 0 of 2 fine", "rank 1 of 2 fine"], done.stderr


def test_under_a_launcher_it_runs_here(python, program: str) -> None:
    said = {"MASTER_ADDR": "localhost", "MASTER_PORT": "1", "MPIGRAD_LOG": "debug"}
    done = python("-m", "mpigrad", "run", "-n", "2", program, "fine", **said)
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    assert sorted(lines) == ["joined", "joined", "rank 0 of 2 fine", "rank 1 of 2 fine"], done.stderr
    assert done.stderr.count("spawn: MASTER_ADDR=localhost and MASTER_PORT=1 are ignored") == 2


def test_number_of_ranks_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(ValueError, match="nprocs=2, but this job was launched with 3 ranks"):
        mp.spawn(print, nprocs=2)


def test_pythons_own_names_are_there() -> None:
    import multiprocessing

    assert mp.Queue is multiprocessing.Queue
    assert set(multiprocessing.__all__) <= set(dir(mp))
