"""The cost of an idle rank: memory after init_rpc, and CPU time without calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from benchmarks import memory
from benchmarks.library import part
from benchmarks.timing import Sample, summarise

rpc = part("distributed.rpc")

SETTLE_SECONDS = 1.0
WATCH_SECONDS = 3.0
WORKERS = ("worker1", "worker2", "worker3")


def process_id() -> int:
    """Runs on every rank: its process id."""
    return os.getpid()


def pids() -> list[int]:
    """Return the process ids of all ranks except rank 0."""
    return [rpc.rpc_sync(worker, process_id) for worker in WORKERS]


def memory_by(reader: Callable[[int], int]) -> Callable[[float], Sample]:
    """The memory of the idle ranks, counted by the function `reader`."""
    return lambda seconds: summarise([float(reader(pid)) for pid in pids()], unit="B")


def cpu(seconds: float) -> Sample:
    """The percentage of a core that each idle rank uses, from one second after the last call on."""
    watched = pids()
    time.sleep(SETTLE_SECONDS)
    before, start = [memory.cpu_seconds(pid) for pid in watched], time.perf_counter()
    time.sleep(WATCH_SECONDS)
    elapsed = time.perf_counter() - start
    used = [100 * (memory.cpu_seconds(pid) - then) / elapsed for pid, then in zip(watched, before)]
    return summarise(used, unit="%")


MEASURES = {"resident": memory_by(memory.resident), "proportional": memory_by(memory.proportional), "cpu": cpu}
