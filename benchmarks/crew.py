"""Runs a task on all ranks of a process group at once, without RPC: rank 0 names it, and the time of the slowest rank counts.

A program lists its tasks, functions of a number of repetitions, in the same order on all ranks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from benchmarks.library import NAME, library, part
from benchmarks.rank import rank_and_size
from benchmarks.timing import Sample, summarise

dist = part("distributed")

RANK, WORLD = rank_and_size()
LEAVE = -1
WARM_UP_TURNS = 2
FEWEST_TURNS = 5

Tasks = Mapping[str, Callable[[int], object]]


def meet() -> None:
    """Create the process group: of gloo for torch, of MPI for mpigrad."""
    dist.init_process_group("gloo" if NAME == "torch" else "mpi", rank=RANK, world_size=WORLD)


def _told(number: int, count: int) -> tuple[int, int]:
    """Return the task and the count that rank 0 has named, on all ranks."""
    order = library.tensor([number, count])
    dist.broadcast(order, src=0)
    return int(order[0]), int(order[1])


def _turn(task: Callable[[int], object], count: int) -> float:
    """Run a task `count` times on this rank; returns the time per repetition of the slowest rank, in seconds."""
    dist.barrier()
    start = time.perf_counter()
    task(count)
    slowest = library.tensor([time.perf_counter() - start], dtype=library.float64)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return float(slowest) / count


def together(tasks: Tasks, name: str, seconds: float, count: int) -> Sample:
    """On rank 0: turns of ``count`` repetitions on all ranks until ``seconds`` are over."""
    return repeat(lambda: once(tasks, name, count), seconds)


def repeat(turn: Callable[[], float], seconds: float, unit: str = "s") -> Sample:
    """On rank 0: the results of turns, until ``seconds`` are over."""
    for _ in range(WARM_UP_TURNS):
        turn()
    until = time.perf_counter() + seconds
    turns: list[float] = []
    while len(turns) < FEWEST_TURNS or time.perf_counter() < until:
        turns.append(turn())
    return summarise(turns, unit)


def once(tasks: Tasks, name: str, count: int) -> float:
    """On rank 0: run a task on all ranks, ``count`` times; the time per repetition of the slowest rank."""
    _told(list(tasks).index(name), count)
    return _turn(tasks[name], count)


def follow(tasks: Tasks) -> None:
    """On the other ranks: run what rank 0 names, until it dismisses."""
    every = list(tasks.values())
    while True:
        number, count = _told(LEAVE, 0)
        if number == LEAVE:
            break
        _turn(every[number], count)
    dist.destroy_process_group()


def dismiss() -> None:
    """On rank 0: let the other ranks end."""
    _told(LEAVE, 0)
    dist.destroy_process_group()
