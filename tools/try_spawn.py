"""Tries whether MPI_Comm_spawn can replace a lost rank; docs/guides/recovering.md says what came out with Open MPI 5.0.11.

    timeout 20 mpirun --with-ft ulfm -n 3 python tools/try_spawn.py [--finalize] [--lose child|parent]

Rank 2 dies. The others shrink COMM_WORLD, start a process, exchange a message with it, and end, by MPI_Finalize or without it.
With `--lose` the new process or rank 1 dies before; the others must learn of it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import Any, NoReturn

from mpi4py import MPI

PATIENCE = 5.0  # seconds
parser = argparse.ArgumentParser()
parser.add_argument("--finalize", action="store_true")
parser.add_argument("--lose", choices=["child", "parent"])
given = parser.parse_args()
parent = MPI.Comm.Get_parent()
name = f"rank {MPI.COMM_WORLD.rank}" if parent == MPI.COMM_NULL else "new process"


def say(what: str) -> None:
    print(f"{name}: {what}\n", end="", flush=True)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failed(comm: Any) -> list[int]:
    """Wait until a rank of the communicator has failed; returns the failed ranks, none after PATIENCE."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        comm.Ack_failed()
        group = comm.Get_failed()
        if group.size:
            return list(MPI.Group.Translate_ranks(group, list(range(group.size)), comm.Get_group()))
        MPI.COMM_SELF.Iprobe()  # lets MPI make progress
        time.sleep(0.001)
    return []


def end() -> NoReturn:
    say("ends")
    if given.finalize:
        MPI.Finalize()
    os._exit(0)


def with_new_process(together: Any, dying: bool) -> None:
    """What all processes do with the merged communicator."""
    together.Set_errhandler(MPI.ERRORS_RETURN)
    if together.rank == 0:
        together.send(21, dest=together.size - 1)
        say(f"the new process answers {together.recv(source=together.size - 1)}")
    if parent != MPI.COMM_NULL:
        together.send(together.recv(source=0) * 2, dest=0)
    if given.lose:
        if dying:
            time.sleep(0.5)
            die()
        say(f"lost are the ranks {failed(together)} of {together.size}")
    end()


if parent != MPI.COMM_NULL:
    with_new_process(parent.Merge(high=True), given.lose == "child")
world = MPI.COMM_WORLD
world.Set_errhandler(MPI.ERRORS_RETURN)
world.Barrier()
if world.rank == 2:
    die()
assert failed(world) == [2]
began = time.monotonic()
left = world.Shrink()
left.Set_errhandler(MPI.ERRORS_RETURN)
made = left.Spawn(sys.executable, [__file__, *sys.argv[1:]], maxprocs=1).Merge(high=False)
say(f"a new process is there after {time.monotonic() - began:.2f} s")
with_new_process(made, given.lose == "parent" and left.rank == 1)
