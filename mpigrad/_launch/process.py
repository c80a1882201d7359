"""Run a launcher to its end: pass signals on, name the rank in front of each line, return its code."""

from __future__ import annotations

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

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_TAG = re.compile(r"^(?:\[[^\]]*?,(\d+)\]<(?:stdout|stderr)>|(\d+)): ?")


def relabel(line: str) -> str:
    """The tags of Open MPI and srun in the short form that MPICH writes.

    >>> relabel("[prterun-host-12@1,3]<stdout>: hello")
    '[3] hello'
    """
    return _TAG.sub(lambda match: f"[{match[1] or match[2]}] ", line)


@contextmanager
def forwarding(process: subprocess.Popen[str]) -> Iterator[None]:
    """Pass the signals that end or notify a job on to its launcher."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def forward(signum: int, frame: FrameType | None) -> None:
        # a terminal sends Ctrl-C to the whole foreground group, the launcher included
        if process.poll() is None and not (signum == signal.SIGINT and sys.stdin.isatty()):
            process.send_signal(signum)

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _copy(source: IO[str], target: IO[str]) -> None:
    for line in source:
        target.write(relabel(line))
        target.flush()


def run_job(job: Job, *, tagged: bool = False) -> int:
    """Run to the end; the code is the launcher's, or 128 + number when a signal ended it."""
    pipe = subprocess.PIPE if tagged else None
    process = subprocess.Popen(job.command, env=job.environment, stdout=pipe, stderr=pipe, text=True, errors="replace")
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
