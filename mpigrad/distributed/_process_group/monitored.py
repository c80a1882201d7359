"""`monitored_barrier`: a barrier through rank 0 of a group, which reports the ranks that are missing.

Receives that time out stay posted, so that a late message matches its own receive and not one of a later group to which MPI
has given the same context id.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from .. import _mpi
from .._mpi import mpi_turn
from .groups import ProcessGroup, resolve

_KEPT = 512  # the number of tags, the highest ones: late messages of a failed barrier cannot match receives of the next ones


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Wait until all ranks of the group have called this, and report those that do not.

    After `timeout` (a `timedelta`, by default that of the group), rank 0 of the group raises a RuntimeError that names
    the first missing rank or, with `wait_all_ranks`, all of them. In a job that survives deaths, all ranks raise a
    `RankLostError` when a member has died.

    >>> import mpigrad.distributed as dist
    >>> dist.init_process_group("mpi")
    >>> dist.monitored_barrier()
    >>> dist.destroy_process_group()
    """
    found = resolve(group)
    if found is None:
        return
    seconds = (timeout or found.timeout).total_seconds()
    tag = _mpi.mpi().COMM_WORLD.Get_attr(_mpi.mpi().TAG_UB) - found.monitored % _KEPT
    found.monitored += 1
    if found.rank() == 0:
        _call_the_roll(found, tag, seconds, wait_all_ranks)
    else:
        _report(found, tag, seconds)


def _call_the_roll(found: ProcessGroup, tag: int, seconds: float, all_of_them: bool) -> None:
    """Wait for a message of every other rank, then answer all of them. Runs on rank 0 of the group."""
    waiting = {rank: _begin(found, partial(found.comm.Irecv, _nothing(), rank, tag)) for rank in range(1, found.size())}
    deadline = time.monotonic() + seconds
    missing = [rank for rank, request in waiting.items() if not ended(request, deadline)]
    if missing:
        found.unanswered += [waiting[rank] for rank in missing]
        named = [found.ranks[rank] for rank in missing]
        who = f"Rank {named[0]}" if len(named) == 1 or not all_of_them else f"Ranks {', '.join(map(str, named))}"
        raise RuntimeError(f"[Rank {found.ranks[0]}]: {who} failed to pass monitoredBarrier in {seconds * 1000:.0f} ms")
    for rank in waiting:
        ended(_begin(found, partial(found.comm.Isend, _nothing(), rank, tag)), deadline + seconds)


def _report(found: ProcessGroup, tag: int, seconds: float) -> None:
    """Send a message to rank 0 of the group, and wait for its answer. Runs on the other ranks."""
    deadline = time.monotonic() + seconds
    sent = _begin(found, lambda: found.comm.Isend(_nothing(), 0, tag))
    answer = _begin(found, lambda: found.comm.Irecv(_nothing(), 0, tag))
    if not ended(sent, deadline) or not ended(answer, deadline):
        found.unanswered.append(answer)
        raise RuntimeError(
            f"Rank {found.ranks[found.rank()]} successfully reached monitoredBarrier, but received errors while waiting for "
            f"send/recv from rank {found.ranks[0]} within {seconds * 1000:.0f} ms. Please check rank {found.ranks[0]} logs for "
            "faulty rank."
        )


def _nothing() -> np.ndarray:
    """Return the buffer of an empty message."""
    return np.empty(0, np.uint8)


def _begin(found: ProcessGroup, start: Callable[[], Any]) -> Any:
    with mpi_turn():
        return found.begin("monitored_barrier", start)


def ended(request: Any, deadline: float) -> bool:
    """Wait for a request until the deadline (of `time.monotonic()`); returns whether it has completed.

    It is tested once more after the deadline, as this thread may have slept past it.
    """
    pause = 0.0
    while True:
        late = time.monotonic() > deadline
        with mpi_turn():
            if request.Test():
                return True
        if late:
            return False
        time.sleep(pause)
        pause = min(pause + 2e-5, 1e-3)
