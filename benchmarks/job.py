"""A running job of one contestant: it is started, asked for measures with a deadline, and stopped while others are measured."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from typing import IO, Any

import psutil

from benchmarks.contestants import processes
from benchmarks.rank import ANSWER

START_SECONDS = 90.0
QUIT_SECONDS = 10.0


class JobError(RuntimeError):
    """Raised if a job died, did not answer in time, or answered with an error."""


class Job:
    """The processes of one contestant that run one program; rank 0 reads requests from its standard input."""

    def __init__(
        self, contestant: str, program: str, ranks: int, threads: int = 1, tensors: str = "", before: str | None = None
    ) -> None:
        self.label = f"{contestant}:{program}" + f" with tensors of {tensors}" * bool(tensors)
        self._errors = tempfile.TemporaryFile(mode="w+")
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._started = time.time()
        started = processes(contestant, program, ranks, threads, tensors, before)
        self._processes = [
            subprocess.Popen(
                process.command,
                env=dict(process.environment),
                cwd=process.directory,
                stdin=subprocess.PIPE if first else subprocess.DEVNULL,
                stdout=subprocess.PIPE if first else subprocess.DEVNULL,
                stderr=self._errors,
                text=True,
                start_new_session=True,
            )
            for first, process in zip([True] + [False] * ranks, started)
        ]
        output = self._processes[0].stdout
        assert output is not None
        threading.Thread(target=self._read, args=(output,), daemon=True).start()
        self.ready_after = self._answer(START_SECONDS)["ready"] - self._started
        # Launchers and ranks alike; a job starts no process after it is ready.
        self._members = [member for process in self._processes for member in family_of(process.pid)]

    def _read(self, output: IO[str]) -> None:
        for line in output:
            if line.startswith(ANSWER):
                self._lines.put(line[len(ANSWER) :])
        self._lines.put(None)

    def _answer(self, deadline: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=deadline)
        except queue.Empty:
            raise self._failure(f"no answer within {deadline:.0f} s") from None
        if line is None:
            raise self._failure("ended before it answered")
        message: dict[str, Any] = json.loads(line)
        return message

    def _failure(self, what: str) -> JobError:
        self._errors.seek(0)
        tail = "".join(self._errors.readlines()[-25:])
        self.kill()
        return JobError(f"{self.label} {what}; the end of its standard error:\n{tail}")

    def ask(self, measure: str, seconds: float, deadline: float) -> dict[str, Any]:
        """Make rank 0 run one measure for `seconds`, and return its answer.

        A job that has not answered by the deadline is killed.
        """
        self.thaw()
        self._order(measure, seconds)
        message = self._answer(deadline)
        if "error" in message:
            raise JobError(f"{self.label} {measure}:\n{message['error']}")
        return message

    def _order(self, measure: str, seconds: float) -> None:
        entry = self._processes[0].stdin
        assert entry is not None
        try:
            entry.write(json.dumps({"measure": measure, "seconds": seconds}) + "\n")
            entry.flush()
        except BrokenPipeError:
            raise self._failure("is gone") from None

    def freeze(self) -> None:
        """Stop all processes (SIGSTOP), so that an idle contestant's polling cannot slow down the one that is measured."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue a stopped job."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for member in self._members:
            with suppress(psutil.NoSuchProcess):
                member.send_signal(number)

    def close(self) -> None:
        """Ask the job to end; kill it if it does not."""
        with suppress(JobError):
            self.thaw()
            self._order("quit", 0.0)
        until = time.monotonic() + QUIT_SECONDS
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.0, until - time.monotonic()))
        self.kill()

    def kill(self) -> None:
        """Kill all processes of this job, and no others."""
        members = getattr(self, "_members", None) or [m for p in self._processes for m in family_of(p.pid)]
        for member in members:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        for process in self._processes:
            process.wait()

    @property
    def alive(self) -> bool:
        return self._processes[0].poll() is None


def family_of(pid: int) -> list[psutil.Process]:
    """The ids of a process and of all its descendants."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    return []


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
