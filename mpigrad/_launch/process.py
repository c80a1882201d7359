"""Runs a launcher: forwards signals to it, prefixes output lines with the rank and returns its exit code."""

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
    """Convert the line tags of Open MPI and srun to the short form of MPICH.

    >>> relabel("[prterun-host-12@1,3]<stdout>: hello")
    '[3] hello'
    """
    return _TAG.sub(lambda match: f"[{match[1] or match[2]}] ", line)


def start(job: Job, output: int | None = None) -> subprocess.Popen[str]:
    """Start the launcher, with its output in a file or in pipes.

    It ends with its ranks even if this process is killed and cannot forward a signal.
    """
    # looked up before the fork: the child of a threaded process may only make system calls
    prctl = ctypes.CDLL(None).prctl
    return subprocess.Popen(
        job.command,
        env=job.environment,
        stdout=output,
        stderr=output,
        text=True,
        errors="replace",
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM)),  # sent by the kernel if this process dies
    )


@contextmanager
def forwarding(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Forward signals that end or notify a job to its launcher; yields the list of those that arrived.

    Ignored signals stay ignored: nohup, and shells for background jobs, set this so that the program continues.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield received
        return

    def forward(signum: int, frame: FrameType | None) -> None:
        received.append(signum)
        # a terminal sends Ctrl-C to the whole foreground group, the launcher included
        if process.poll() is None and not (signum == signal.SIGINT and sys.stdin.isatty()):
            process.send_signal(signum)

    left_alone = (signal.SIG_IGN, None)  # None: a handler that was not set from Python and could not be restored
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
    """Run a job to its end; returns the launcher's exit code, or 128 + number if a signal ended it.

    `tagged`: the launcher tags each line of output with its rank; the tags are converted to one form.
    """
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
    # subprocess reports a signal as its negative number; shells use 128 + number
    return 128 - code if code < 0 else code
