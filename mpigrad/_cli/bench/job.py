"""The ranks of the benchmark: worker 0 measures, the others serve."""

from __future__ import annotations

import argparse
import json
import socket
from typing import Any

import mpigrad.distributed.rpc as rpc
from mpigrad._cli.bench import cases, tables
from mpigrad._cli.bench.timing import Times, repeat
from mpigrad._cli.doctor.probe import partner_of_first
from mpigrad._version import __version__

QUICK_SECONDS = 0.005


def _numbers(times: Times) -> dict[str, float]:
    return {"calls": times.calls, "min_us": times.minimum, "median_us": times.median, "p99_us": times.p99}


def _calls_by_kind(to: str, seconds: float) -> list[dict[str, Any]]:
    rows = []
    for name, call, count in cases.kinds(to):
        times = repeat(call, seconds)
        rows.append({"name": name, **_numbers(times), "per_second": times.per_second * count})
    return rows


def _calls_by_size(to: str, seconds: float) -> list[dict[str, Any]]:
    rows = []
    for size, call in cases.sizes(to):
        times = repeat(call, seconds)
        rows.append({"bytes": size, **_numbers(times), "mb_s": size / times.median})
    return rows


def _each_to_the_next(comm: Any, seconds: float) -> dict[str, Any]:
    """Measure, for about `seconds`, calls that all workers make to the next one at the same time."""
    comm.Barrier()
    times = repeat(lambda: rpc.rpc_sync(f"worker{(comm.rank + 1) % comm.size}", cases.nothing), seconds)
    medians = comm.gather(times.median)
    row = {"name": "rpc_sync, each to the next", **_numbers(times)}
    return {**row, "per_second": sum(1e6 / median for median in medians)} if medians else row


def _measure(comm: Any, hosts: list[str], seconds: float) -> dict[str, Any]:
    from mpi4py import MPI

    other = partner_of_first(hosts)
    to = f"worker{other}"
    vendor, numbers = MPI.get_vendor()
    return {
        "version": __version__,
        "mpi": f"{vendor} {'.'.join(map(str, numbers))}",
        "ranks": comm.size,
        "hosts": len(set(hosts)),
        "callee": to,
        "same_host": hosts[0] == hosts[other],
        "kinds": _calls_by_kind(to, seconds),
        "sizes": _calls_by_size(to, seconds),
    }


def _publish(result: dict[str, Any], args: argparse.Namespace) -> None:
    print(tables.render(result), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(result, file, indent=2)
    if args.plot:
        tables.plot(result, args.plot)


def measure_in_job(args: argparse.Namespace) -> int:
    """Run one rank of the benchmark."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.size < 2:
        raise ValueError(f"the benchmark needs at least 2 ranks, this job has {comm.size}; see `mpigrad doctor`")
    seconds = QUICK_SECONDS if args.quick else args.seconds
    hosts = comm.allgather(socket.gethostname())
    rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
    together = _each_to_the_next(comm, seconds)
    if comm.rank == 0:
        result = _measure(comm, hosts, seconds)
        result["kinds"].append(together)
        _publish(result, args)
    rpc.shutdown()
    return 0
