"""The report of a rank for `mpigrad top`: sent to those who ask (`attach.py`), and written once a second to the directory
MPIGRAD_TOP if that is set. Background threads do both.

A rank that waits, hangs or computes continues to report. A rank that is stuck outside of Python, stopped or dead does not, which
shows in the age of its last report.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

from mpigrad._process.logs import get_logger
from mpigrad._process.rank import launched_rank, launched_size
from mpigrad._watchdog import attach
from mpigrad._watchdog.jobs import VARIABLE, Report, write

log = get_logger("top")

SECONDS = 1.0
THREAD_NAME = "mpigrad-top"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MACHINERY = (_PACKAGE, os.path.dirname(threading.__file__) + os.sep + "threading.py", "<frozen")

_BEGAN = time.time()
_reporter: Reporter | None = None


def start_reporting() -> None:
    """Start to answer and write reports; once per process."""
    global _reporter
    attach.listen(Rank().report)
    directory = os.environ.get(VARIABLE)
    if directory and _reporter is None:
        _reporter = Reporter(Path(directory))


class Rank:
    """The reports of this rank; it remembers the time and CPU time of the last one."""

    def __init__(self) -> None:
        self._cpu, self._time = time.process_time(), time.monotonic()

    def report(self, ended: bool = False) -> Report:
        """The current report of this rank."""
        return {
            "rank": launched_rank() or 0, "size": launched_size() or 1, "host": socket.gethostname(), "pid": os.getpid(),
            "began": _BEGAN, "time": time.time(), "ended": ended, "cpu": self._cpu_share(), "memory": memory(),
            "here": places(), **of_rpc(),
        }  # fmt: skip

    def _cpu_share(self) -> float:
        """The number of cores used since the last report."""
        before, self._cpu = self._cpu, time.process_time()
        then, self._time = self._time, time.monotonic()
        return (self._cpu - before) / max(self._time - then, 1e-3)


class Reporter:
    """The thread that writes this rank's reports."""

    def __init__(self, job: Path) -> None:
        self._job = job
        self._rank = Rank()
        self._end = threading.Event()
        job.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Write the last report and end the thread."""
        atexit.unregister(self.stop)
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        ended = False
        while not ended:
            try:
                write(self._job, self._rank.report(ended))
                ended = self._end.wait(SECONDS)
                if ended:
                    write(self._job, self._rank.report(ended))
            except OSError as error:
                if not self._end.is_set():
                    log.warning("no more reports for `mpigrad top`: %s", error)
                return


def of_rpc() -> Report:
    """The worker's name, its counters, and the calls that it waits for; all empty before `init_rpc`."""
    # not imported here: a program that never uses RPC should not load it for a report
    module = sys.modules.get("mpigrad.distributed.rpc._agent.current")
    agent = None if module is None else module.current.agent
    if agent is None:
        return {"worker": None, "waits": [], "counters": {}}
    from mpigrad._watchdog.view import waits_of
    from mpigrad.distributed.rpc.api import _get_debug_info

    waits = [{"rank": each.rank, "function": each.function, "seconds": each.seconds} for each in waits_of(agent)]
    try:
        counters = _get_debug_info()
    except (RuntimeError, AttributeError):  # the agent is starting or stopping and is incomplete
        counters = {}
    return {"worker": agent.info.name, "waits": waits, "counters": counters}


def memory() -> int:
    """The memory of this process, in bytes."""
    with open("/proc/self/statm") as file:
        # resident pages
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def places() -> list[str]:
    """The position in the program's code: in the main thread, and in threads that serve other workers."""
    main = threading.main_thread()
    frames, found = sys._current_frames(), []
    for thread in threading.enumerate():
        if thread is main or thread.name.startswith("mpigrad-") and thread.name != THREAD_NAME:
            place = _place(frames.get(thread.ident or 0))
            if place is not None:
                found.append(place if thread is main else f"{place} (served)")
    return found


def _place(frame: Any) -> str | None:
    """The position of the innermost frame that belongs neither to this library nor to Python's threading.

    As text, such as "train.py:28 main"; None if there is no such frame.
    """
    inner: FrameType | None = frame
    while inner is not None:
        file = inner.f_code.co_filename
        if not file.startswith(_MACHINERY):
            return f"{os.path.basename(file)}:{inner.f_lineno} {inner.f_code.co_name}"
        inner = inner.f_back
    return None
