"""Registers the watchdog with RPC when imported: each agent gets a watch, each process a signal handler.

- `kill -USR2 PID` (or `scancel --signal=USR2 JOB`) makes a worker print the stacks of all its threads and go on.
- `mpigrad top` gets a report from a worker of the same host; `MPIGRAD_TOP=DIRECTORY` makes a worker write it there, too.
- `MPIGRAD_STALL_SECONDS=30` makes a worker that has waited so long for an answer report which worker causes it, and why.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from mpigrad._process.logs import get_logger
from mpigrad._process.rank import singletons
from mpigrad._watchdog.report import start_reporting
from mpigrad.distributed.rpc._protocol import extensions

if TYPE_CHECKING:
    from mpigrad._core.rpc.agent import Agent
    from mpigrad._watchdog.stall import StallWatch

VARIABLE = "MPIGRAD_STALL_SECONDS"

_watches: dict[int, StallWatch] = {}


def stall_seconds() -> float:
    """The value of MPIGRAD_STALL_SECONDS; 0 switches the watch off."""
    text = os.environ.get(VARIABLE, "0")
    with contextlib.suppress(ValueError):
        if (seconds := float(text)) >= 0:
            return seconds
    raise ValueError(f"{VARIABLE}={text!r} is not a number of seconds; it can be 30, or 0 to switch it off")


def warn_of_singletons(world_size: int) -> bool:
    """Warn if the launcher has started N jobs of one rank instead of one job of N ranks; returns whether it warned."""
    problem = singletons(world_size)
    if problem is not None:
        get_logger("launch").warning("%s", problem)
    return problem is not None


def stacks_on_signal() -> None:
    """Print all stacks on SIGUSR2, unless the program handles that signal."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL:
        with contextlib.suppress(AttributeError, OSError, ValueError):  # stderr may have no file descriptor
            faulthandler.register(signal.SIGUSR2, all_threads=True, chain=False)


def started(agent: Agent) -> None:
    """Start the watch of a new agent."""
    stacks_on_signal()
    mpi = sys.modules.get("mpi4py.MPI")  # not loaded with the in-memory transport
    if mpi is not None:
        warn_of_singletons(mpi.COMM_WORLD.size)
    start_reporting()
    seconds = stall_seconds()
    if seconds:
        from mpigrad._watchdog.stall import StallWatch

        _watches[id(agent)] = StallWatch(agent, seconds)


def stopped(agent: Agent) -> None:
    """Stop the watch of an agent."""
    watch = _watches.pop(id(agent), None)
    if watch is not None:
        watch.stop()


extensions.start_hooks.append(started)
extensions.shutdown_hooks.append(stopped)
