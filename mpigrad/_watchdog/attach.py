"""Attaching to a job that runs: each rank listens at a local socket, and answers every connection with its report.

The sockets are in Linux's abstract namespace: they have names but no files, so none is left when a rank is killed, and
/proc/net/unix lists them. A name consists of user, job, rank and process. Both ends check the user at the other end. The
listening thread is blocked in `accept`: it costs nothing until `mpigrad top` asks.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mpigrad._process.logs import get_logger
from mpigrad._process.rank import in_slurm_step, launched_rank

log = get_logger("top")

JOB = "MPIGRAD_JOB"  # the name of the job, set by `mpigrad run`
THREAD_NAME = "mpigrad top"
SECONDS = 1.0  # the time in which a rank must answer
_CREDENTIALS = struct.Struct("3i")  # process, user, group
_PREFIX = "mpigrad-top-"
_LISTENING = "00010000"  # flags of a socket in /proc/net/unix

_listener: socket.socket | None = None


class Rank(NamedTuple):
    """A process of this user that listens for `mpigrad top`."""

    job: str
    rank: int
    pid: int


def job_name(program: str, number: object) -> str:
    """The name of a job: its program and a number, for example the launcher's process id."""
    return f"{re.sub('[^A-Za-z0-9_.+-]', '_', os.path.basename(program))[:40] or 'python'}-{number}"


def _own_job() -> str:
    """The job of this process. Ranks that were not started by `mpigrad run` have their SLURM step or parent process in common."""
    named = os.environ.get(JOB)
    if named:
        return named
    step = f"{os.environ.get('SLURM_JOB_ID')}.{os.environ.get('SLURM_STEP_ID')}"
    return job_name(sys.argv[0] if sys.argv else "", step if in_slurm_step() else os.getppid())


def _address(rank: Rank) -> str:
    # a name that begins with a zero byte is in the abstract namespace
    return f"\0{_PREFIX}{os.getuid()}/{rank.job}/{rank.rank}.{rank.pid}"


def listen(report: Callable[[], dict[str, Any]]) -> None:
    """Answer `mpigrad top` with reports from now on; once per process."""
    global _listener
    if _listener is not None or not sys.platform.startswith("linux"):
        return
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(_address(Rank(_own_job(), launched_rank() or 0, os.getpid())))
        listener.listen(8)
    except OSError as error:
        listener.close()
        log.debug("`mpigrad top` cannot show this rank: %s", error)
        return
    _listener = listener
    threading.Thread(target=_serve, args=(listener, report), name=THREAD_NAME, daemon=True).start()


def _serve(listener: socket.socket, report: Callable[[], dict[str, Any]]) -> None:
    while True:
        try:
            asking, _ = listener.accept()
        except OSError:  # closed
            return
        try:
            with asking:
                # abstract sockets have no file permissions: any user of the host can connect, so the kernel is asked
                # who it is
                if _peer(asking)[1] in (os.getuid(), 0):
                    asking.settimeout(SECONDS)
                    asking.sendall(json.dumps(report()).encode())
        except Exception as error:
            log.debug("`mpigrad top` got no report: %s", error)


def _peer(connection: socket.socket) -> tuple[int, ...]:
    """The ids of the process, the user and the group at the other end of a connection."""
    return _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))


def _after_fork() -> None:
    """Runs in a forked child, which is not a rank: close the socket, or the parent would seem to be alive after its end."""
    global _listener
    if _listener is not None:
        _listener.close()
        _listener = None


os.register_at_fork(after_in_child=_after_fork)


def running() -> list[Rank]:
    """The processes of this user on this host that listen."""
    start = f"@{_PREFIX}{os.getuid()}/"
    found = []
    try:
        with open("/proc/net/unix") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    for line in lines:
        words = line.split()
        if len(words) == 8 and words[3] == _LISTENING and words[7].startswith(start):
            job, _, rank = words[7][len(start) :].partition("/")
            number, _, pid = rank.partition(".")
            if number.isdigit() and pid.isdigit():
                found.append(Rank(job, int(number), int(pid)))
    return sorted(found)


def ask(ranks: Sequence[Rank]) -> Iterator[tuple[Rank, dict[str, Any] | None]]:
    """The reports of ranks that are alive; None for one that does not answer. All are asked at the same time."""
    limit = time.monotonic() + SECONDS
    # first connect to all, then read: the slowest rank delays the table, not the sum of all
    connections = [(rank, _connect(rank)) for rank in ranks]
    for rank, connection in connections:
        if connection is not None:
            with connection:
                yield rank, _answer(connection, limit)


def _connect(rank: Rank) -> socket.socket | None:
    """Connect to a rank; None if it has ended, or belongs to another user."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SECONDS)
    try:
        connection.connect(_address(rank))
        if _peer(connection)[1] == os.getuid():
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _answer(connection: socket.socket, limit: float) -> dict[str, Any] | None:
    parts = []
    try:
        while True:
            connection.settimeout(max(limit - time.monotonic(), 0.001))
            part = connection.recv(1 << 16)
            if not part:
                break
            parts.append(part)
        return dict(json.loads(b"".join(parts)))
    except (OSError, ValueError):
        return None
