"""The lower limit for calls.py: the same bytes sent by mpi4py alone, from and into buffers that are allocated once."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from benchmarks.timing import Sample, repeat

USES_RPC = False
CALL_BYTES = 128  # the bytes of an empty call with its header and function name
IN_FLIGHT = 64
ECHO_MIB = (1, 16, 64, 256)
PING, STOP, ECHO = 1, 2, 3

comm = MPI.COMM_WORLD


def follow() -> None:
    """Serve rank 0: sleep between measures, poll without pauses during one."""
    order = np.zeros(2, dtype=np.int64)
    while True:
        while not comm.Iprobe(source=0, tag=PING):
            time.sleep(1e-3)
        comm.Recv(order, source=0, tag=PING)
        kind, size = int(order[0]), int(order[1])
        if kind == STOP:
            return
        serve_echoes(size)


def serve_echoes(size: int) -> None:
    """Return each message to its sender until one has the stop tag."""
    buffer, status = np.zeros(size, dtype=np.uint8), MPI.Status()
    while True:
        comm.Recv(buffer, source=0, status=status)
        if status.tag == STOP:
            return
        comm.Send(buffer, dest=0, tag=ECHO)


def begin(kind: int, size: int) -> None:
    comm.Send(np.array([kind, size], dtype=np.int64), dest=1, tag=PING)


def end(size: int) -> None:
    comm.Send(np.zeros(size, dtype=np.uint8), dest=1, tag=STOP)


def echo_bytes(size: int, seconds: float) -> Sample:
    """Send and receive one buffer of ``size`` bytes."""
    out, back = np.ones(size, dtype=np.uint8), np.ones(size, dtype=np.uint8)
    begin(ECHO, size)

    def trip() -> None:
        comm.Send(out, dest=1, tag=ECHO)
        comm.Recv(back, source=1, tag=ECHO)

    sample = repeat(trip, seconds)
    end(size)
    return sample


def empty(seconds: float) -> Sample:
    """A ping-pong of the bytes of an empty call."""
    return echo_bytes(CALL_BYTES, seconds)


def in_flight(seconds: float) -> Sample:
    """Seconds per message when 64 are sent before the first answer is received."""
    out, back = np.ones(CALL_BYTES, dtype=np.uint8), np.ones(CALL_BYTES, dtype=np.uint8)
    begin(ECHO, CALL_BYTES)

    def burst() -> None:
        requests = [comm.Isend(out, dest=1, tag=ECHO) for _ in range(IN_FLIGHT)]
        for _ in range(IN_FLIGHT):
            comm.Recv(back, source=1, tag=ECHO)
        MPI.Request.Waitall(requests)

    sample = repeat(burst, seconds, per=IN_FLIGHT)
    end(CALL_BYTES)
    return sample


def echo_of(mebibytes: int) -> Callable[[float], Sample]:
    return lambda seconds: echo_bytes(mebibytes * 2**20, seconds)


def dismiss() -> None:
    """Let the other rank end."""
    begin(STOP, 0)


MEASURES = {
    "empty": empty,
    "in_flight": in_flight,
    **{f"echo_{size}": echo_of(size) for size in ECHO_MIB},
}
