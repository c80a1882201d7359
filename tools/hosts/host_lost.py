"""A host is lost under a job that survives: calls to the worker there fail, calls between the others go on.

    host_lost.py cut     the link of the host is cut; its processes live
    host_lost.py dead    its network is removed, and its processes are killed, Open MPI's daemon too

Run by tools/hosts/test.sh with a rank on each of three "hosts", `mpirun --with-ft ulfm` and heartbeats; rank 0 does this to the
host of rank 1 itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from mpi4py import MPI

import mpigrad.distributed.rpc as rpc


def add(x: int, y: int) -> int:
    return x + y


def lose_host(how: str) -> None:
    """Cut the link of the host mg2, and end the host if asked to. No connection is closed, as when a host loses its power."""
    subprocess.run(["ip", "-n", "mgsw", "link", "set", "v2", "down"], check=True)
    if how == "dead":
        found = subprocess.run(["ip", "netns", "pids", "mg2"], check=True, capture_output=True, text=True)
        processes = [(int(pid), Path(f"/proc/{pid}/comm").read_text().strip()) for pid in found.stdout.split()]
        for pid, name in sorted(processes, key=lambda each: each[1] != "sh"):
            # the shells stand for ssh, which would run on the launcher's host and wait
            os.kill(pid, signal.SIGSTOP if name == "sh" else signal.SIGKILL)
        subprocess.run(["ip", "-n", "mgsw", "link", "del", "v2"], check=True)


def main() -> None:
    comm = MPI.COMM_WORLD
    rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
    if comm.rank == 1:
        time.sleep(60)  # ended by the test
        return
    if comm.rank == 0:
        assert rpc.rpc_sync("worker1", add, args=(1, 2)) == 3
        lose_host(sys.argv[1])
        start = time.monotonic()
        try:
            rpc.rpc_sync("worker1", add, args=(1, 2), timeout=20)
        except rpc.WorkerLostError as error:
            print(f"after {time.monotonic() - start:.1f} s: {error}", flush=True)
            assert error.rank == 1
        for x in range(200):
            assert rpc.rpc_sync("worker2", add, args=(x, 1)) == x + 1
        assert [info.id for info in rpc.get_worker_infos()] == [0, 2]
    rpc.shutdown(timeout=20)
    print(f"rank {comm.rank} survived the loss of a host", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
