"""The stall watch on real ranks: it names the worker, the call and the stack that the others wait for."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

import mpigrad.distributed.rpc as rpc
from mpigrad._process import rank as _rank
from mpigrad._watchdog import install
from mpigrad._watchdog.chain import Link, explain
from mpigrad._watchdog.install import stall_seconds
from mpigrad._watchdog.view import View, Wait

LIMIT = 0.4
release = threading.Event()


def held_up_here() -> int:
    release.wait(40)
    return 7


def pass_on(to: str) -> int:
    return rpc.rpc_sync(to, held_up_here)


def let_go() -> None:
    release.set()


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the watch has said, with a short limit."""
    monkeypatch.setenv("MPIGRAD_STALL_SECONDS", str(LIMIT))
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("mpigrad.stall")
    logger.addHandler(handler)
    release.clear()
    yield lines
    logger.removeHandler(handler)


def wait_for(condition, seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@pytest.mark.mpi(min_size=3)
def test_names_whom_everyone_waits_for(reports, rpc_world) -> None:
    if rpc_world.rank == 0:
        future = rpc.rpc_async("worker1", pass_on, args=("worker2",))
        assert wait_for(lambda: reports)
        rpc.rpc_sync("worker2", let_go)
        assert future.wait() == 7
        text = reports[0]
        assert "for pass_on on worker1" in text
        assert "worker1 waits for held_up_here on worker2" in text
        assert "all of them wait for worker2, which is here:" in text
        assert "release.wait(40)" in text
        assert "_progress" not in text
    rpc_world.barrier()


@pytest.mark.mpi(min_size=2)
def test_says_nothing_when_calls_are_answered(reports, rpc_world) -> None:
    end, slowest = time.monotonic() + 3 * LIMIT, 0.0
    while time.monotonic() < end:
        start = time.monotonic()
        rpc.rpc_sync(rpc_world.next_name, os.getpid)
        slowest = max(slowest, time.monotonic() - start)
    rpc_world.barrier()
    assert reports == [] or slowest > 0.9 * LIMIT  # a machine under load may really stand still for so long


class FakeAgent:
    def __init__(self, names: list[str]) -> None:
        self.info = type("Info", (), {"name": names[0]})
        self.workers = {rank: type("Info", (), {"name": name}) for rank, name in enumerate(names)}


def test_words_for_a_circle_and_for_silence() -> None:
    agent = FakeAgent(["a", "b", "c"])
    to_b, to_a, to_c = Wait(1, 1, "f", 9.0), Wait(2, 0, "g", 9.0), Wait(3, 2, "h", None)
    circle = [Link(to_b, 1, View("b", [to_a], [])), Link(to_a, 0, View("a", [to_b], []))]
    text = explain(agent, 9, circle, True)
    first, second, last = text.splitlines()
    assert (first, second) == ("a has waited 9 s for f on b", "  b waits for g on a")
    assert last == "  these workers wait for each other: a deadlock"
    assert "c does not answer: it is dead" in explain(agent, 9, [Link(to_c, 2, None)], False)


@pytest.mark.parametrize("text", ["soon", "-1"])
def test_variable_must_be_a_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MPIGRAD_STALL_SECONDS", text)
    with pytest.raises(ValueError, match=f"MPIGRAD_STALL_SECONDS='{text}' is not a number of seconds"):
        stall_seconds()


@pytest.mark.parametrize(("started", "seen", "warned"), [(None, 1, False), (4, 4, False), (1, 1, False), (4, 1, True)])
def test_singletons_are_noticed(monkeypatch: pytest.MonkeyPatch, started: int | None, seen: int, warned: bool) -> None:
    monkeypatch.setattr(_rank, "launched_size", lambda: started)
    assert install.warn_of_singletons(seen) is warned


def test_stacks_on_usr2() -> None:
    program = (
        "import time, mpigrad.distributed.rpc as rpc\n"
        "def waiting_here():\n    print('ready', flush=True)\n    time.sleep(40)\n"
        "rpc.init_rpc('solo', rank=0, world_size=1)\nwaiting_here()\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "PRTE_"))}
    with subprocess.Popen([sys.executable, "-c", program], env=kept, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR2)
        seen = ""
        while "in waiting_here" not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        assert process.poll() is None
        process.kill()
