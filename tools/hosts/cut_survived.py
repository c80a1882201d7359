"""A link is cut under a job that survives: calls to the worker behind it fail, calls between the others go on.

Run by tools/hosts/test.sh with a rank on each of three "hosts", `mpirun --with-ft ulfm` and heartbeats; rank 0 cuts the link of
rank 1 itself.
"""

from __future__ import annotations

import os
import subprocess
import time

from mpi4py import MPI

import mpigrad.distributed.rpc as rpc


def add(x: int, y: int) -> int:
    return x + y


def main() -> None:
    comm = MPI.COMM_WORLD
    rpc.init_rpc(f"worker{comm.rank}", rank=comm.rank, world_size=comm.size)
    if comm.rank == 1:
        time.sleep(60)  # behind the cut; ended by the test
        return
    if comm.rank == 0:
        assert rpc.rpc_sync("worker1", add, args=(1, 2)) == 3
        subprocess.run(["ip", "-n", "mgsw", "link", "set", "v2", "down"], check=True)
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
    print(f"rank {comm.rank} survived the cut", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
