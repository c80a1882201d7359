"""The cost of surviving deaths in jobs without a death: small calls, with and without `--survive`, beside mpi4py alone.

    python -m benchmarks.survival --rounds 9 --json benchmarks/results/survival.json

Each round starts a job of two ranks for each mode, one after the other, every other round in the opposite order; the numbers are
the medians over the rounds of each job's 5th percentile and median, in microseconds, and the ratio to "off" of the same round.

    off        mpirun
    ulfm       mpirun with the options of `mpigrad run --survive`; mpigrad itself does not know of it
    survive    mpigrad run --survive
    heartbeat  mpigrad run --survive --heartbeat 2
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable

import numpy as np

from mpigrad._launch.command import job_for, rank_program, surviving
from mpigrad._launch.launcher import find_launcher
from mpigrad._process.survival import HEARTBEAT, SURVIVE

CALLS, WARM_UP = 8000, 2000
MODES: dict[str, dict[str, str]] = {"off": {}, "ulfm": {}, "survive": {SURVIVE: "1"}, "heartbeat": {SURVIVE: "1", HEARTBEAT: "2"}}
RING = 16


def timed(call: Callable[[], object]) -> str:
    times = []
    for _ in range(CALLS):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e6)
    low, middle = np.percentile(times[WARM_UP:], [5, 50])
    return f"{low:.3f} {middle:.3f}"


def raw() -> None:
    """Round trips of 100 bytes with mpi4py, through a ring of persistent receives like that of RPC."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()
    buffers, message = [bytearray(65536) for _ in range(RING)], bytes(100)
    ring = [comm.Recv_init([buffer, MPI.BYTE], MPI.ANY_SOURCE, 1) for buffer in buffers]
    MPI.Prequest.Startall(ring)
    comm.Barrier()
    other, place = 1 - comm.rank, 0

    def receive() -> None:
        nonlocal place
        while not ring[place].Test():
            pass
        ring[place].Start()
        place = (place + 1) % RING

    def round_trip() -> None:
        comm.Isend([message, MPI.BYTE], other, 1).Test()
        receive()

    if comm.rank == 0:
        print("mpi4py,", timed(round_trip), flush=True)
    else:
        for _ in range(CALLS):
            receive()
            comm.Isend([message, MPI.BYTE], other, 1).Test()
    comm.Barrier()


def nothing() -> None:
    pass


def calls() -> None:
    """Empty calls, and calls with two small tensors."""
    from mpi4py.MPI import COMM_WORLD as world

    import mpigrad
    import mpigrad.distributed.rpc as rpc

    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        x = mpigrad.ones(3, 3)
        print("empty call,", timed(lambda: rpc.rpc_sync("worker1", nothing)), flush=True)
        print("add of two tensors,", timed(lambda: rpc.rpc_sync("worker1", mpigrad.add, args=(x, x))), flush=True)
    rpc.shutdown()


def one_job(what: str, mode: str) -> dict[str, tuple[float, float]]:
    """Run a job; returns the 5th percentile and the median of each of its measures."""
    launcher = find_launcher()
    options = [] if mode == "off" else surviving(launcher)
    program = rank_program("-m", "benchmarks.survival", "--program", what)
    job = job_for(launcher, 2, program, options=options, variables=MODES[mode])
    done = subprocess.run(job.command, env=job.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines() if "," in line]
    return {name: (float(numbers.split()[0]), float(numbers.split()[1])) for name, numbers in lines}


def compare(rounds: int) -> dict[str, dict[str, dict[str, float]]]:
    """Run all jobs; returns the numbers of each measure and mode, and prints them."""
    jobs = [("raw", "off"), ("raw", "ulfm"), *(("calls", mode) for mode in MODES)]
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for number in range(rounds):
        for what, mode in jobs[:: -1 if number % 2 else 1]:
            for measure, times in one_job(what, mode).items():
                found.setdefault(measure, {}).setdefault(mode, []).append(times)
    return {measure: {mode: numbers(measure, mode, modes) for mode in modes} for measure, modes in found.items()}


def numbers(measure: str, mode: str, modes: dict[str, list[tuple[float, float]]]) -> dict[str, float]:
    low, middle = (statistics.median(each[place] for each in modes[mode]) for place in (0, 1))
    pairs = list(zip(modes[mode], modes["off"]))
    of_off = [statistics.median(each[place] / off[place] for each, off in pairs) for place in (0, 1)]
    print(f"{measure:20} {mode:9} {low:6.2f} {middle:6.2f} us, {of_off[0]:.3f} {of_off[1]:.3f} of off")
    names = ("low_us", "median_us", "low_of_off", "median_of_off")
    return {name: round(value, 3) for name, value in zip(names, (low, middle, *of_off))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", help="write the numbers to this file")
    parser.add_argument("--program", choices=["raw", "calls"])
    given = parser.parse_args()
    if given.program:
        {"raw": raw, "calls": calls}[given.program]()
    else:
        os.environ.pop(SURVIVE, None)
        measures = compare(given.rounds)
        if given.json:
            when, cores = datetime.date.today().isoformat(), len(os.sched_getaffinity(0))
            with open(given.json, "w") as file:
                json.dump({"date": when, "cores": cores, "rounds": given.rounds, "measures": measures}, file, indent=2)
                file.write("\n")
