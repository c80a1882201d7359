"""Spares: processes of a job that wait until others are lost, and then run the program in their place (`mpigrad run --spares N`).

The first ranks of MPI run the program from the start, the last N are spares. A *place* is a rank of the program, below
WORLD_SIZE, which the program reads from the variable RANK; a *process* is a rank of MPI. A process that is lost never comes
back: a spare takes its place, and runs the program from its beginning with the same RANK.

Each spare decides for itself, so no process is needed to share out the places:

- Of most deaths MPI tells every spare. Of processes that exited by themselves, were stopped or cut off, the workers of RPC do,
  which have noticed it (LOST).
- The first of the spares that wait takes the place of the process that was lost first, and tells the others (TAKEN). If it does
  not for PATIENCE seconds, the next one does. Should both take the place, only one of them can join the world of RPC, since
  names are unique; the other one ends with that error.
- Spares end when the process in place 0 has come to its end (OVER), or when no process runs the program any more.
"""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from typing import Any, NamedTuple

from mpigrad._process import survival
from mpigrad._process.survival import spares

from ._mpi import failed_ranks, mpi, mpi_turn

PATIENCE = 5.0  # seconds
LOOK_SECONDS = 0.005
END_SECONDS = 5.0  # time for spares to read that the job is over
_MESSAGE = struct.Struct("<BIII")
_LOST, _TAKEN, _OVER = range(3)
_BELOW = 4  # how far the tag of these messages is below those of dynamic worlds; `_first_ranks.py` has 2 and 3
_sent: list[Any] = []  # requests and their messages


class Place(NamedTuple):
    """The place that a spare takes, and what it knows of lost processes."""

    rank: int  # of the program
    incarnation: int  # how many processes were lost in this place
    process: int  # the lost one
    ended: frozenset[int]  # all processes that are known to be lost


def program_size(comm: Any) -> int:
    """Return the number of ranks of a communicator that run the program: without spares, if it is COMM_WORLD."""
    return int(comm.Get_size()) - (spares() if comm == mpi().COMM_WORLD else 0)


def tell_lost(process: int) -> None:
    """Tell all spares that `process` (a rank of MPI) is lost, as MPI may not tell them."""
    for spare in _all_spares():
        _send(spare, _LOST, process)


def tell_over() -> None:
    """Tell all spares that the process in place 0 has reached its end, so that they end too.

    Waits until they have read it, END_SECONDS at most.
    """
    MPI = mpi()
    if MPI.Is_finalized():
        return
    world, message = MPI.COMM_WORLD, _MESSAGE.pack(_OVER, 0, 0, 0)
    dead = failed_ranks(MPI, world)
    # synchronous sends: complete when the spare has read the message
    left = [world.Issend([message, MPI.BYTE], spare, _tag(world)) for spare in _all_spares() if spare not in dead]
    limit = time.monotonic() + END_SECONDS
    while left and time.monotonic() < limit:
        left = [request for request in left if not _completes(request)]
        time.sleep(0.001)
    _sent.append((message, left))


def _completes(request: Any) -> bool:
    try:
        with mpi_turn():
            return bool(request.Test())
    except mpi().Exception:  # the spare is dead
        return True


def _all_spares() -> range:
    size = mpi().COMM_WORLD.Get_size()
    return range(size - spares(), size)


def _tag(world: Any) -> int:
    return int((world.Get_attr(mpi().TAG_UB) or 32767) // 2 - _BELOW)


def _send(to: int, what: int, process: int, spare: int = 0, place: int = 0) -> None:
    MPI = mpi()
    message = _MESSAGE.pack(what, process, spare, place)
    try:
        with mpi_turn():
            _sent.append((message, MPI.COMM_WORLD.Isend([message, MPI.BYTE], to, _tag(MPI.COMM_WORLD))))
    except MPI.Exception:  # this spare is dead
        pass


class Spare:
    """One spare while it waits: which process runs in which place, which spares wait, which lost processes have no successor."""

    def __init__(self) -> None:
        self._world = mpi().COMM_WORLD
        self._own = self._world.Get_rank()
        self._place_of = {rank: rank for rank in range(program_size(self._world))}  # process -> place
        self._waiting = set(_all_spares())
        self._ended: set[int] = set()
        self._missing: dict[int, float] = {}  # lost process whose place is free -> when this spare heard of it
        self._losses: Counter[int] = Counter()  # by place
        self._over = False

    def wait(self) -> Place | None:
        """Wait until this spare is needed, and return the place that it takes; None if the job ends without it."""
        while not self._over:
            self._look()
            if self._missing and self._is_next():
                return self._take(next(iter(self._missing)))
            if not self._missing and self._place_of.keys() <= self._ended:
                return None
            time.sleep(LOOK_SECONDS)
        return None

    def _look(self) -> None:
        MPI = mpi()
        try:
            message = bytearray(_MESSAGE.size)
            while self._world.Iprobe(MPI.ANY_SOURCE, _tag(self._world)):
                self._world.Recv([message, MPI.BYTE], MPI.ANY_SOURCE, _tag(self._world))
                self._heard(*_MESSAGE.unpack(message))
        except MPI.Exception:  # a process has failed
            self._world.Ack_failed()
        for process in failed_ranks(MPI, self._world):
            self._lose(process)

    def _heard(self, what: int, process: int, spare: int, place: int) -> None:
        self._over = self._over or what == _OVER
        if what != _OVER:
            self._lose(process)
        if what == _TAKEN:
            self._missing.pop(process, None)
            self._waiting.discard(spare)
            self._place_of[spare] = self._place_of[process] = place

    def _lose(self, process: int) -> None:
        if process in self._ended:
            return
        self._ended.add(process)
        self._waiting.discard(process)
        if process in self._place_of:
            self._losses[self._place_of[process]] += 1
            self._missing[process] = time.monotonic()

    def _is_next(self) -> bool:
        """Return whether this spare should act now.

        The first of those that wait acts at once; each further one PATIENCE seconds later, in case the earlier ones do
        not react.
        """
        first = next(iter(self._missing.values()))
        return time.monotonic() - first >= PATIENCE * sorted(self._waiting).index(self._own)

    def _take(self, process: int) -> Place:
        place = self._place_of[process]
        for spare in self._waiting - {self._own}:
            _send(spare, _TAKEN, process, self._own, place)
        return Place(place, self._losses[place], process, frozenset(self._ended))


def wait_as_spare() -> bool:
    """Wait as a spare; returns True when this process has to run the program, False if the job ends without it.

    Before it returns True, it sets RANK and the incarnation in the environment.
    """
    place = Spare().wait()
    if place is None:
        return False
    survival.take_place(place.process, place.ended)
    os.environ |= {"RANK": str(place.rank), survival.INCARNATION: str(place.incarnation)}
    return True
