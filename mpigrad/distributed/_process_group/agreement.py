"""Checks that all ranks of a group are about to run the same collective, before it starts.

With MPIGRAD_DISTRIBUTED_DEBUG=detail (or PyTorch's TORCH_DISTRIBUTED_DEBUG) every collective is checked; without it, those that
run inside a distributed backward pass, which may reach a collective on some members of its group only. Every rank reports to the
first rank of the group what it is about to run; that rank waits for all reports until the deadline, compares them and answers
with a verdict, so every member raises an error that names the ranks that are missing or that differ.
"""

from __future__ import annotations

import struct
import time
from collections import Counter
from functools import partial

import numpy as np

from mpigrad._core.engine import current_task

from .. import _mpi
from .._mpi import mpi_turn
from .groups import ProcessGroup
from .monitored import ended

_BYTES = 1024  # the length of a report and of a verdict; longer ones are cut
_NUMBER = struct.Struct("<q")
_BELOW_HIGHEST_TAG = 600  # `monitored_barrier` has the highest ones


def seconds_to_agree(found: ProcessGroup) -> float | None:
    """Return how many seconds the check of a collective may take; None if the collective is not checked.

    Checked are all collectives of a group with `checked`, and those inside a distributed pass.
    """
    task = current_task()
    if task is not None and task.sink is not None:  # only a task of a distributed pass has a sink
        from ..rpc._agent.current import current

        limit = current.agent.rpc_timeout if current.agent is not None else 0
        return min(limit or np.inf, found.timeout.total_seconds()) / 2  # so that errors come before that of the whole pass
    return found.timeout.total_seconds() if found.checked else None


def agree(found: ProcessGroup, what: str, seconds: float) -> None:
    """Check that all ranks of the group are about to run the same collective, which `what` describes.

    RuntimeError, on all of them, if a rank has another description or does not call this within `seconds`.
    """
    report = _NUMBER.pack(found.agreed) + what.encode()[: _BYTES - _NUMBER.size]
    tag = _mpi.mpi().COMM_WORLD.Get_attr(_mpi.mpi().TAG_UB) - _BELOW_HIGHEST_TAG
    verdict = _judge(found, report, tag, what, seconds) if found.rank() == 0 else _ask(found, report, tag, what, seconds)
    if verdict:
        raise RuntimeError(verdict)
    found.agreed += 1


def _judge(found: ProcessGroup, own: bytes, tag: int, what: str, seconds: float) -> str:
    """Collect and compare the reports, and send the verdict to all ranks; returns it: empty, or a text for the error.

    Runs on rank 0 of the group.
    """
    buffers = {rank: np.zeros(_BYTES, np.uint8) for rank in range(1, found.size())}
    with mpi_turn():
        requests = {rank: found.begin(what, partial(found.comm.Irecv, buffer, rank, tag)) for rank, buffer in buffers.items()}
    deadline = time.monotonic() + seconds
    missing = [rank for rank, request in requests.items() if not ended(request, deadline)]
    for rank in missing:  # a late report must not be taken for that of the next collective
        with mpi_turn():
            requests[rank].Cancel()
            requests[rank].Wait()
    reports = {0: own, **{rank: buffers[rank].tobytes().rstrip(b"\0") for rank in requests if rank not in missing}}
    verdict = _missing(found, own, missing, seconds) if missing else _differing(found, reports)
    answer = np.zeros(_BYTES, np.uint8)
    text = verdict.encode()[:_BYTES]
    answer[: len(text)] = np.frombuffer(text, np.uint8)
    with mpi_turn():
        sent = [found.begin(what, partial(found.comm.Isend, answer, rank, tag)) for rank in requests if rank not in missing]
    for request in sent:
        ended(request, time.monotonic() + seconds)
    return verdict


def _ask(found: ProcessGroup, report: bytes, tag: int, what: str, seconds: float) -> str:
    """Send the report to rank 0 of the group and return its verdict. Runs on the other ranks."""
    sent, answer = np.zeros(_BYTES, np.uint8), np.zeros(_BYTES, np.uint8)
    sent[: len(report)] = np.frombuffer(report, np.uint8)
    with mpi_turn():
        sending = found.begin(what, lambda: found.comm.Isend(sent, 0, tag))
        request = found.begin(what, lambda: found.comm.Irecv(answer, 0, tag))
    if not ended(request, time.monotonic() + 2 * seconds):  # the first rank may have come late, and waits itself
        with mpi_turn():
            request.Cancel()
            request.Wait()
        return (
            f"rank {found.ranks[found.rank()]} is about to run {what}, but rank {found.ranks[0]} of its group did not reach "
            f"it within {2 * seconds:.3g} s"
        )
    ended(sending, time.monotonic() + seconds)
    return answer.tobytes().rstrip(b"\0").decode(errors="replace")


def _missing(found: ProcessGroup, own: bytes, ranks: list[int], seconds: float) -> str:
    """Return the verdict if these ranks of the group have sent no report."""
    names = ", ".join(str(found.ranks[rank]) for rank in ranks)
    return (
        f"{own[_NUMBER.size :].decode()}: rank{'s' if len(ranks) > 1 else ''} {names} of the group {found.ranks} did not reach "
        f"it within {seconds:.3g} s. All members of a group must run its collectives, also those of backward passes"
    )


def _differing(found: ProcessGroup, reports: dict[int, bytes]) -> str:
    """Return the verdict on the reports by rank: which ranks run another collective than most; empty if all run the same."""
    usual = Counter(reports.values()).most_common(1)[0][0]
    others = [f"rank {found.ranks[rank]} runs {_read(report)}" for rank, report in reports.items() if report != usual]
    if not others:
        return ""
    most = [str(found.ranks[rank]) for rank, report in reports.items() if report == usual]
    return f"Detected mismatch between collectives on ranks: {'; '.join(others)}; but rank {', '.join(most)} runs {_read(usual)}"


def _read(report: bytes) -> str:
    """Return a report as text: the collective, and how many checked ones its rank has run before."""
    (number,) = _NUMBER.unpack_from(report.ljust(_NUMBER.size, b"\0"))
    return f"{report[_NUMBER.size :].decode(errors='replace')} (sequence number {number})"
