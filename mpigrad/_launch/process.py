"""Run a launcher to its end: pass signals on, name the rank in front of each line, return its code."""

from __future__ import annotations

import ctypes
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO

from mpigrad._launch.command import Job

PR_SET_PDEATHSIG = 1
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_TAG = re.compile(r"^(?:\[[^\]]*?,(\d+)\]<(?:stdout|stderr)>|(\d+)): ?")


def relabel(line: str) -> str:
    """The tags of Open MPI and srun in the short form that MPICH writes.

    >>> relabel("[prterun-host-12@1,3]<stdout>: hello")
    '[3] hello'
    """
    return _TAG.sub(lambda match: f"[{match[1] or match[2]}] ", line)


def start(job: Job, output: int | None = None) -> subprocess.Popen[str]:
    """Start the launcher, with its output in a file or in pipes.

    It ends, with its ranks, even when this process is killed and can pass nothing on.
    """
    prctl = ctypes.CDLL(None).prctl
    return subprocess.Popen(
        job.command,
        env=job.environment,
        stdout=output,
        stderr=output,
        text=True,
        errors="replace",
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM)),
    )


@contextmanager
def forwarding(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Pass the signals that end or notify a job on to its launcher; the list fills with those that came.

    Signals that are ignored stay ignored: whoever starts a program so (nohup, a shell its background jobs) wants it to go on.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return

    def forward(signum: int, frame: FrameType | None) -> None:
        received.append(signum)
        # a terminal sends Ctrl-C to the whole foreground group, the launcher included
        if process.poll() is None and not (signum == signal.SIGINT and sys.stdin.isatty()):
            process.send_signal(signum)

    left_alone = (signal.SIG_IGN, None)  # None: somebody else's, which could not be put back
    numbers = [number for number in FORWARDED if signal.getsignal(number) not in left_alone]
    before = {number: signal.signal(number, forward) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _copy(source: IO[str], target: IO[str]) -> None:
    for line in source:
        target.write(relabel(line))
        target.flush()


def run_job(job: Job, *, tagged: bool = False) -> int:
    """Run to the end; the code is the launcher's, or 128 + number when a signal ended it."""
    process = start(job, subprocess.PIPE if tagged else None)
    with forwarding(process):
        copiers = [
            threading.Thread(target=_copy, args=(source, target))
            for source, target in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
            if source is not None
        ]
        for copier in copiers:
            copier.start()
        code = process.wait()
        for copier in copiers:
            copier.join()
    return 128 - code if code < 0 else code
