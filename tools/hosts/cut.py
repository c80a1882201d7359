"""A link is cut under a running job: the call must fail within its deadline, with an error that names the worker.

Run by tools/hosts/test.sh with a rank on each of two "hosts"; rank 0 cuts the other's link itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from mpi4py import MPI

import mpigrad.distributed.rpc as rpc

DEADLINE = 4.0


def nothing() -> int:
    return 1


def main() -> int:
    comm = MPI.COMM_WORLD
    rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
    if comm.rank:
        time.sleep(60)  # ended by the test: MPI does not detect a cut link
        return 1
    if rpc.rpc_sync("worker1", nothing) != 1:
        return 1
    subprocess.run(["ip", "-n", "mgsw", "link", "set", "v2", "down"], check=True)
    start = time.monotonic()
    try:
        rpc.rpc_sync("worker1", nothing, timeout=DEADLINE)
    except RuntimeError as error:
        took = time.monotonic() - start
        print(f"after {took:.1f} s: {error}", flush=True)
        good = "worker1" in str(error) and took < DEADLINE + 3
        print("cut: ok" if good else "cut: the error is late or does not name the worker", flush=True)
        os._exit(0 if good else 1)
    print("cut: the call over a cut link gave an answer", flush=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
