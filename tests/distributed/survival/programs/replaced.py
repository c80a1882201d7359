"""The program of `test_spares.py`: workers are lost, and spares take their places. worker0 prints the results."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable

import mpigrad.distributed.rpc as rpc

RANK, SIZE, INCARNATION = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ.get("MPIGRAD_INCARNATION", 0))
SECONDS = 60.0
over = threading.Event()


def who() -> tuple[int, int, int]:
    return RANK, INCARNATION, os.getpid()


def end() -> None:
    over.set()


def exit_silently() -> None:
    os._exit(0)


def kill(*workers: str) -> None:
    pids = [rpc.rpc_sync(worker, who)[2] for worker in workers]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def lost(worker: str) -> None:
    """Wait until the current process with this worker name is lost."""
    deadline = time.monotonic() + SECONDS
    with contextlib.suppress(rpc.WorkerLostError):
        pid = rpc.rpc_sync(worker, who)[2]
        while rpc.rpc_sync(worker, who)[2] == pid:
            assert time.monotonic() < deadline, worker


def back(*workers: str) -> list[tuple[int, int]]:
    """Wait until there are workers with these names again; returns RANK and incarnation of each."""
    for worker in workers:
        rpc.wait_for_worker(worker, SECONDS)
    return [rpc.rpc_sync(worker, who)[:2] for worker in workers]


def replaced(kill: Callable[..., None], *workers: str) -> list[tuple[int, int]]:
    """Let workers be lost, and wait for their successors; returns RANK and incarnation of each."""
    before = {worker: rpc.get_worker_info(worker).id for worker in workers}
    kill(*workers)
    deadline = time.monotonic() + SECONDS
    while any(rpc.wait_for_worker(worker, SECONDS).id == process for worker, process in before.items()):
        assert time.monotonic() < deadline, before
        time.sleep(0.001)
    return back(*workers)


def repeated(path: str, last: str) -> tuple[int, int]:
    """Run on a worker: add a line to a file, and kill the first process that runs it in its place, before it can answer."""
    with open(path, "a") as file:
        file.write(f"{last}\n")
    if not INCARNATION:
        os.kill(os.getpid(), signal.SIGKILL)
    return RANK, INCARNATION


def retries() -> str:
    """A call with retries goes to the spare that took the name. With `at_most_once` it fails, and runs once."""
    with tempfile.NamedTemporaryFile("r") as runs:
        answer = rpc.rpc_sync("worker2", repeated, args=(runs.name, "several"), retries=50)
        try:
            rpc.rpc_sync("worker1", repeated, args=(runs.name, "once"), retries=50, at_most_once=True)
        except rpc.WorkerLostError as error:
            back(error.name)
            time.sleep(0.5)  # a second run would come now
            return f"{answer}, {error.name} lost, {runs.read().split()}"
    return "an answer"


def one_after_the_other() -> str:
    return str([replaced(kill, worker)[0] for worker in ("worker2", "worker1", "worker2")])


def at_once() -> str:
    return str(replaced(kill, "worker1", "worker3"))


def exits() -> str:
    return str(replaced(lambda worker: rpc.rpc_async(worker, exit_silently), "worker2"))


def stops() -> str:
    return str(replaced(lambda worker: os.kill(rpc.rpc_sync(worker, who)[2], signal.SIGSTOP), "worker2"))


def more_than_spares() -> str:
    """Lose more workers than there are spares: the others go on."""
    first = replaced(kill, "worker1")
    kill("worker1")
    try:
        while True:
            rpc.rpc_sync("worker1", who)
    except RuntimeError as error:
        assert "worker1" in str(error), error
    try:
        rpc.wait_for_worker("worker1", 1.0)
    except TimeoutError as error:
        return f"{first}, then {error}"
    return "a spare too many"


def first_rank() -> str:
    """Lose worker0, whose successor runs this program from its beginning."""
    if not INCARNATION:
        rpc.rpc_sync("worker1", who)
        os.kill(os.getpid(), signal.SIGKILL)
    return str(back("worker0", "worker1", "worker2", "worker3"))


def main() -> None:
    scenario = globals()[sys.argv[1]]
    rpc.init_rpc(f"worker{RANK}", rank=RANK, dynamic=True)
    if RANK == 0:
        for other in range(1, SIZE):
            rpc.wait_for_worker(f"worker{other}", SECONDS)
        said = scenario()
        for info in rpc.get_worker_infos():
            rpc.rpc_sync(info, end)
        print(said)
    assert over.wait(SECONDS), "worker0 has not ended the job"
    rpc.shutdown()


if __name__ == "__main__":
    main()
