"""Runs a task on all ranks at once: rank 0 orders it, the main thread of every rank runs it, and the time of the slowest counts.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from benchmarks.library import part
from benchmarks.timing import Sample, summarise

rpc = part("distributed.rpc")

orders: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
done: queue.SimpleQueue[float] = queue.SimpleQueue()
LEAVE = "leave"
WARM_UP_TURNS = 2
FEWEST_TURNS = 5
DEADLINE = 100.0


def order(task: str, count: int) -> None:
    """Runs on every rank but 0: wake its main thread."""
    orders.put((task, count))


def report(seconds: float) -> None:
    """Runs on rank 0: one rank has finished."""
    done.put(seconds)


def follow(tasks: dict[str, Callable[[int], object]]) -> None:
    """Runs in the main thread of the other ranks: run the tasks that rank 0 orders, and report their durations."""
    while True:
        task, count = orders.get()
        if task == LEAVE:
            return
        rpc.rpc_sync("worker0", report, args=(timed(tasks[task], count),))


def timed(task: Callable[[int], object], count: int) -> float:
    start = time.perf_counter()
    task(count)
    return time.perf_counter() - start


def all_at_once(task: str, mine: Callable[[int], object] | None, workers: int, count: int) -> float:
    """The time per repetition of the slowest rank when all ranks run ``task`` ``count`` times; rank 0 may only serve."""
    for rank in range(1, workers):
        rpc.rpc_sync(f"worker{rank}", order, args=(task, count))
    elapsed = [timed(mine, count)] if mine else []
    elapsed += [done.get(timeout=DEADLINE) for _ in range(1, workers)]
    return max(elapsed) / count


def repeat_together(
    task: str, mine: Callable[[int], object] | None, workers: int, seconds: float, count: int
) -> Sample:
    """Turns of ``count`` repetitions on all ranks until ``seconds`` are over."""
    for _ in range(WARM_UP_TURNS):
        all_at_once(task, mine, workers, count)
    until = time.perf_counter() + seconds
    turns: list[float] = []
    while len(turns) < FEWEST_TURNS or time.perf_counter() < until:
        turns.append(all_at_once(task, mine, workers, count))
    return summarise(turns)


def dismiss(workers: int) -> None:
    """Let the main threads of the other ranks continue to shutdown."""
    for rank in range(1, workers):
        rpc.rpc_sync(f"worker{rank}", order, args=(LEAVE, 0))
