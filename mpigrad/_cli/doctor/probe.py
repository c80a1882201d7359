"""The test job: hosts, cores, thread level, latency, bandwidth, and whether cross-memory attach works.

Rank 0 prints the answer as one marked line, so that other output of the launcher does not matter.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import time
from typing import Any

import numpy as np

from mpigrad.distributed.rpc._transport.shared_memory.slots import out_of_reach, own_slots

MARK = "MPIGRAD-DOCTOR "
SMALL, LARGE = 8, 1 << 20
SECONDS_FOR_ONE_TEST = 20.0


def _wait(request: Any, what: str) -> None:
    """Poll with a deadline: a broken link must not hang the command."""
    end = time.monotonic() + SECONDS_FOR_ONE_TEST
    while not request.Test():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} took more than {SECONDS_FOR_ONE_TEST:.0f} s")


def half_round_trip(comm: Any, partner: int, size: int, repeat: int) -> float:
    """The median time of one message of `size` bytes between this rank and its partner, in seconds."""
    out, into = np.zeros(size, np.uint8), np.empty(size, np.uint8)
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        if comm.rank < partner:
            _wait(comm.Isend(out, partner), f"sending to rank {partner}")
            _wait(comm.Irecv(into, partner), f"receiving from rank {partner}")
        else:
            _wait(comm.Irecv(into, partner), f"receiving from rank {partner}")
            _wait(comm.Isend(out, partner), f"sending to rank {partner}")
        times.append((time.perf_counter() - start) / 2)
    return float(np.median(times[len(times) // 5 :]))


def _cuda_aware() -> bool | None:
    """Whether MPI says that it is CUDA-aware; None if it has no such query."""
    with open("/proc/self/maps") as maps:
        loaded = {line.split()[-1] for line in maps if "/libmpi" in line}
    for path in sorted(loaded):
        query = getattr(ctypes.CDLL(path), "MPIX_Query_cuda_support", None)
        if query is not None:
            return bool(query())
    return None


def _pmi() -> str | None:
    for prefix, name in (("PMIX_", "PMIx"), ("PMI_", "PMI")):
        if any(variable.startswith(prefix) for variable in os.environ):
            return name
    return None


def _self() -> dict[str, Any]:
    return {"host": socket.gethostname(), "cores": sorted(os.sched_getaffinity(0)), "pid": os.getpid()}


def partner_of_first(hosts: list[str]) -> int:
    """The first rank on another host than rank 0, else rank 1."""
    return next((rank for rank, host in enumerate(hosts) if host != hosts[0]), 1)


def _measure(comm: Any, hosts: list[str]) -> dict[str, Any] | None:
    if comm.size < 2:
        return None
    other = partner_of_first(hosts)
    answer = None
    if comm.rank in (0, other):
        partner = other if comm.rank == 0 else 0
        small, large = half_round_trip(comm, partner, SMALL, 400), half_round_trip(comm, partner, LARGE, 40)
        answer = {"ranks": [0, other], "same_host": hosts[0] == hosts[other]}
        answer |= {"small_us": small * 1e6, "large_us": large * 1e6, "large_gb_s": LARGE / large / 1e9}
    barrier = comm.Ibarrier()
    while not barrier.Test():  # a blocking call would spin on the other ranks and disturb the measurement
        time.sleep(0.001)
    return answer


def _copying(comm: Any, hosts: list[str]) -> dict[str, Any] | None:
    """Whether the last rank on rank 0's host can copy from rank 0 by cross-memory attach; None if rank 0 is alone there."""
    own = own_slots()
    said = comm.bcast(own.packed if own is not None else b"")
    others = [rank for rank, host in enumerate(hosts) if rank and host == hosts[0]]
    why = comm.gather(out_of_reach(said) if comm.rank in others[-1:] else None)
    return {"works": not why[others[-1]], "why": why[others[-1]]} if why and others else None


def look() -> dict[str, Any] | None:
    """Ask all ranks; rank 0 returns the answer, the others None."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    ranks = comm.gather(_self())
    hosts = comm.bcast([rank["host"] for rank in ranks] if ranks else None)
    levels = {getattr(MPI, f"THREAD_{name}"): name for name in ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")}
    measured, copying = _measure(comm, hosts), _copying(comm, hosts)
    if comm.rank:
        return None
    return {
        "size": comm.size,
        "thread_level": levels[MPI.Query_thread()],
        "standard": ".".join(map(str, MPI.Get_version())),
        "library_says": MPI.Get_library_version().split("\x00")[0].split(",")[0].splitlines()[0].strip(),
        "ranks": ranks,
        "pmi": _pmi(),
        "cuda_aware": _cuda_aware(),
        "latency": measured,
        "copying": copying,
        "slurm_tasks": os.environ.get("SLURM_STEP_NUM_TASKS") or os.environ.get("SLURM_NTASKS"),
    }


if __name__ == "__main__":
    answer = look()
    if answer is not None:
        print("\n" + MARK + json.dumps(answer), flush=True)
