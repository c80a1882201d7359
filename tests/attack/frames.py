"""Malformed frames: real frames with bytes changed, cut off or doubled, sent to all other ranks while calls and passes go on.

    mpiexec -n 2 python -m tests.attack.frames --frames 20000 --seconds 300

A malformed frame may be dropped or answered with an error. No rank may end or hang, and calls and gradients must stay
right.
"""

from __future__ import annotations

import argparse
import logging
import random
import resource
import sys
import time
from typing import Any

import numpy as np

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
from mpigrad.distributed._mpi import mpi
from mpigrad.distributed.rpc._protocol.message import HEADER, HEADER_SIZE, KIND_OFFSET, MessageType
from mpigrad.distributed.rpc._world.in_process import acting_as, in_process_world

from . import interrupts

FAREWELLS = frozenset({MessageType.LEAVE, MessageType.CLOSE, MessageType.PROBE, MessageType.REPORT, MessageType.DEPART})
ANSWERS = frozenset({MessageType.REPLY, MessageType.EXCEPTION})
CALL_ID = slice(HEADER_SIZE - 48, HEADER_SIZE - 40)
CONTEXTS = 70_000  # so many are used up first: a context of a broken frame is none that is checked
LARGEST = 1 << 20


def chain(to: str, x: Any) -> Any:
    return rpc.rpc_sync(to, mpigrad.mul, args=(x, 2.0)) + x


def fail() -> None:
    raise KeyError("no")


def captured() -> list[bytes]:
    """Return frames of all kinds, recorded in a world in memory."""
    frames: list[bytes] = []

    def fate(src: int, dst: int, frame: bytes) -> float:
        if src == 0 and frame[KIND_OFFSET] not in FAREWELLS:
            frames.append(bytes(frame))
        return 0.0

    with in_process_world(3, fate=fate) as agents, acting_as(agents[0]):
        for action in (interrupts.small, interrupts.pickled, interrupts.reference, interrupts.backward):
            action("worker1")
        x = mpigrad.ones(3, requires_grad=True)
        with dist_autograd.context() as context_id:
            y = rpc.rpc_sync("worker1", chain, args=("worker0", x))
            dist_autograd.backward(context_id, [(y + rpc.rpc_sync("worker2", chain, args=("worker1", y))).sum()])
        try:
            rpc.rpc_sync("worker1", fail)
        except KeyError:
            pass
        rpc.rpc_sync("worker1", interrupts.echo, args=(np.zeros(60_000),))
    return frames


def broken(frame: bytes, chance: random.Random) -> bytes:
    """Return a copy of a frame that is damaged at random."""
    made = bytearray(frame)
    for _ in range(chance.choice((0, 1, 1, 2, 5, 20))):
        place = chance.randrange(HEADER_SIZE) if chance.random() < 0.5 else chance.randrange(len(made))
        made[place] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
    if made[KIND_OFFSET] in FAREWELLS:  # which would be obeyed
        made[KIND_OFFSET] = 0
    if MessageType.CLEANUP_AUTOGRAD_CONTEXT_REQ in (frame[KIND_OFFSET], made[KIND_OFFSET]):  # and this, with errors from then on
        made[:] = frame
    made[CALL_ID] = frame[CALL_ID]  # nor may it be the answer to another call
    if chance.random() < 0.1:
        del made[chance.randrange(len(made)) :]
    return bytes(made)


def check(to: str) -> None:
    for action in (interrupts.small, interrupts.pickled, interrupts.large, interrupts.backward, interrupts.reference):
        action(to)


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def attack(count: int, seconds: float, seed: int, others: list[int]) -> str:
    """Rank 0: send malformed frames, and check again and again that calls and passes work."""
    MPI, chance = mpi(), random.Random(seed)
    agent = rpc.api._get_current_rpc_agent()
    frames, before, began, sent = captured_frames, {rank: rpc.rpc_sync(rank, memory) for rank in others}, time.monotonic(), 0
    while sent < count and time.monotonic() - began < seconds:
        for rank in others:
            for _ in range(50):
                made = broken(chance.choice(frames), chance)
                with agent.progress.queue.lock:
                    request = agent.transport._comm.Isend([made, MPI.BYTE], rank, agent.transport._frame_tag)
                    agent.transport._keep(request, rank)
                sent += 1
            check(f"worker{rank}")
    grown = {rank: rpc.rpc_sync(rank, memory) - before[rank] for rank in others}
    return f"{sent} broken frames in {time.monotonic() - began:.0f} s; memory grew by {grown} MiB"


captured_frames: list[bytes] = []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    from mpi4py.MPI import COMM_WORLD as world

    logging.disable(logging.CRITICAL)  # each broken frame is reported
    assert HEADER.size == HEADER_SIZE
    if world.rank == 0:
        captured_frames.extend(captured())
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    for _ in range(CONTEXTS):
        with dist_autograd.context():
            pass
    if world.rank == 0:
        print(attack(given.frames, given.seconds, given.seed, list(range(1, world.size))))
        sys.stdout.flush()
    world.Barrier()
    rpc.shutdown(graceful=False)  # broken frames count as requests that were never issued


if __name__ == "__main__":
    main()
