"""The program of `test_deaths_of_ranks.py`: ranks die at a special moment, the others report what they see and end well."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI

import mpigrad.distributed.rpc as rpc

world, folder, moment, *victims = MPI.COMM_WORLD, Path(sys.argv[1]), *sys.argv[2].split()
FIRST, LAST = 0, world.size - 1
DYING = [int(victim) for victim in victims]  # in `in_init`


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def forever() -> None:
    time.sleep(60)


def say(text: str) -> None:
    (folder / str(world.rank)).write_text(text)


def start() -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)


def in_init() -> None:
    if world.rank in DYING:
        time.sleep(0.2)
        die()
    try:
        start()
    except rpc.WorkerLostError as error:
        assert error.rank in DYING and f"rank {error.rank}" in str(error), error
        say("the start failed")


def before_init() -> None:
    if world.rank == LAST:
        die()
    time.sleep(0.3)
    try:
        start()
    except rpc.WorkerLostError as error:
        assert f"rank {LAST}" in str(error), error
        say("the start failed")


def rank_zero() -> None:
    start()
    if world.rank == FIRST:
        time.sleep(0.2)
        die()
    try:
        rpc.rpc_sync("worker0", forever)
    except rpc.WorkerLostError as error:
        assert (error.name, error.rank) == ("worker0", 0), error
        say("rank 0 is lost")
    rpc.shutdown(timeout=30)
    sys.exit(3)


def exception() -> None:
    start()
    if world.rank == LAST:
        raise ValueError("an error of one rank")
    see_it()


def silent_exit() -> None:
    start()
    if world.rank == LAST:
        time.sleep(0.2)
        os._exit(0)
    see_it()


def see_it() -> None:
    seen: list[str] = []
    rpc.on_worker_lost(lambda worker, incarnation, why: seen.append(worker.name))
    limit = time.monotonic() + 30
    while not seen and time.monotonic() < limit:
        time.sleep(0.01)
    assert [info.id for info in rpc.get_worker_infos()] == list(range(LAST)), rpc.get_worker_infos()
    rpc.shutdown(timeout=30)
    say(f"{seen} lost")


def all_but_one() -> None:
    start()
    rpc.api._barrier({f"worker{rank}" for rank in range(world.size)})
    if world.rank != 1:
        die()
    agent = rpc.api._get_current_rpc_agent()
    limit = time.monotonic() + 30
    while len(agent.lost) < world.size - 1 and time.monotonic() < limit:
        time.sleep(0.01)
    rpc.shutdown(timeout=30)
    say(f"{len(agent.lost)} lost")


def stopped() -> None:
    """Also without `--survive`, with heartbeats."""
    start()
    pid = rpc.rpc_sync(f"worker{LAST}", os.getpid)
    rpc.api._barrier({f"worker{rank}" for rank in range(world.size)})
    if world.rank == FIRST:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        rpc.rpc_sync(f"worker{LAST}", forever)
    except rpc.WorkerLostError as error:
        assert (error.rank, "had no heartbeat" in error.why) == (LAST, True), error
        say(f"{error.name} is lost" if time.monotonic() - began < 5 else "late")
    assert rpc.rpc_sync(f"worker{1 - world.rank}", abs, args=(-1,)) == 1
    rpc.shutdown(timeout=30)
    say(f"{(folder / str(world.rank)).read_text()}, and has ended")
    if world.rank == FIRST:
        limit = time.monotonic() + 30
        while not (folder / "1").exists() or "ended" not in (folder / "1").read_text():
            assert time.monotonic() < limit
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)  # the launcher would wait for it


def world_of_survivors() -> None:
    start()
    agent = rpc.api._get_current_rpc_agent()
    if world.rank == 1:
        time.sleep(0.2)
        die()
    limit = time.monotonic() + 30
    while not agent.lost and time.monotonic() < limit:
        time.sleep(0.01)
    rpc.shutdown(timeout=30)
    comm = world.Shrink()
    options = rpc.MPIRpcBackendOptions(comm=comm)
    rpc.init_rpc(f"worker{world.rank}", rank=comm.rank, world_size=comm.size, rpc_backend_options=options)
    say(str([rpc.rpc_sync(info.name, abs, args=(-info.id,)) for info in rpc.get_worker_infos()]))
    rpc.shutdown(timeout=30)


def again() -> None:
    """No rank dies. All starts use one communicator: late messages of one must not be received by the next."""
    for number in range(30):
        start()
        assert rpc.rpc_sync((world.rank + 1) % world.size, abs, args=(-number,)) == number
        rpc.shutdown(timeout=30)
    say("30 worlds")


def member(dies: bool) -> int:
    if dies and world.rank == LAST:
        die()
    return world.rank


def group_call() -> None:
    start()
    if world.rank == FIRST:
        group = rpc.WorkerGroup(fan_out=2)  # the last worker is called by the one before it
        calls = group.rpc_async_each(member, args=(True,), timeout=30)
        assert [call.wait() for call in calls[:LAST]] == list(range(LAST))
        try:
            group.rpc_sync(member, args=(False,), timeout=30)
        except rpc.GroupError as error:
            say(f"{list(error.errors)} failed, {type(error.errors[f'worker{LAST}']).__name__}")
    limit = time.monotonic() + 30
    while not rpc.api._get_current_rpc_agent().lost and time.monotonic() < limit:
        time.sleep(0.01)
    rpc.shutdown(timeout=30)


def all_of_them() -> None:
    raise ValueError("an error of every rank")


MOMENTS = (
    in_init, before_init, rank_zero, exception, silent_exit, all_but_one, all_of_them, again, stopped,
    world_of_survivors, group_call,
)  # fmt: skip
{each.__name__: each for each in MOMENTS}[moment]()
