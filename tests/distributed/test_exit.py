"""The end of processes: forked children affect nothing, printed errors do not end the job, a stopped worker blocks no one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mpigrad._process import interpreter

ROOT = Path(__file__).parents[2]
START = """
    import ctypes, os, signal, sys, threading, time
    import mpigrad
    import mpigrad.distributed as dist
    import mpigrad.distributed.rpc as rpc
    from mpigrad.distributed._mpi import mpi

    rank = mpi().COMM_WORLD.rank
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2)
    peer = f"worker{1 - rank}"
"""
FORKS = """
    dist.init_process_group()
    rref = rpc.remote(peer, list, args=((1, 2),))
    assert rref.to_here() == [1, 2]
    go = threading.Event()

    def wait():
        return go.wait(60)

    def go_on():
        go.set()

    dist.barrier()  # both have defined the functions
    slow = rpc.rpc_async(peer, wait)

    def child():
        uses = [
            lambda: rpc.rpc_sync(peer, max, args=(1, 2)), rref.to_here, lambda: rref.rpc_sync().__len__(), slow.wait,
            rpc.shutdown, dist.barrier, lambda: dist.all_reduce(mpigrad.ones(1)),
            lambda: rpc.init_rpc("again", rank=0, world_size=1),
        ]
        for use in uses:
            try:
                print("a child could use", use, use())
            except RuntimeError as error:
                if "was forked from process" not in str(error):
                    print("not the reason:", error)

    def forked(end):
        pid = os.fork()
        if pid == 0:
            child()
            end()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    codes = [forked(lambda: sys.exit(7))]
    pid = os.fork()
    if pid == 0:
        child()
        raise SystemExit(8)  # not caught
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    pid = os.fork()
    if pid == 0:
        raise ValueError("only a child ends")
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    assert codes == [7, 8, 1], codes
    ctypes.pythonapi.PyRun_SimpleString(b"1 / 0")  # an error that Python prints with the hook, and goes on
    rpc.rpc_sync(peer, go_on)
    assert slow.wait()
    assert rpc.rpc_sync(peer, max, args=(1, 2)) == 2 and rref.to_here() == [1, 2]
    dist.barrier()
    dist.destroy_process_group()
    rpc.shutdown()
    sys.stdout.write(f"rank {rank} has ended well\\n")
"""
STOPPED = """
    rpc.rpc_sync(peer, max, args=(1, 2))
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.2)
    try:
        rpc.shutdown(timeout=0.5)
    except RuntimeError as error:
        sys.stdout.write(f"gave up: {error}\\n")
    sys.stdout.flush()
    sys.exit(3)
"""


def run(tmp_path: Path, program: str, seconds: int) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(textwrap.dedent(START + program))
    command = [ROOT / "tools" / "mpirun.sh", sys.prefix, "2", str(seconds), tmp_path / "program.py"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=seconds + 15)


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--with-mpi"):
        pytest.skip("starts a job of its own, which a rank of another job cannot")


@pytest.mark.deadline(100)
def test_a_forked_child_cannot_use_rpc_and_its_end_touches_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, FORKS, 60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(done.stdout.split("\n")) == ["", "rank 0 has ended well", "rank 1 has ended well"], done.stdout
    assert "ValueError: only a child ends" in done.stderr and "ZeroDivisionError" in done.stderr
    assert "ends the job" not in done.stderr


@pytest.mark.deadline(100)
def test_a_worker_that_gave_up_on_a_stopped_one_ends(tmp_path: Path) -> None:
    """And the launcher then ends the stopped one."""
    done = run(tmp_path, STOPPED, 40)
    assert "gave up: graceful shutdown did not end within 0.5 s" in done.stdout, done.stdout + done.stderr
    assert done.returncode not in (0, 124, 137), (done.returncode, done.stderr)


def test_python_without_the_gil_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter.refuse_free_threading()
    monkeypatch.setattr(interpreter.sys, "_is_gil_enabled", lambda: False, raising=False)
    with pytest.raises(ImportError, match=r"needs Python's global interpreter lock.*PYTHON_GIL=1"):
        interpreter.refuse_free_threading()
