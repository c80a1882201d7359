"""Whether this job is to survive the loss of ranks: the environment variables that `mpigrad run --survive` sets."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from .rank import launched_rank

SURVIVE, HEARTBEAT = "MPIGRAD_SURVIVE", "MPIGRAD_HEARTBEAT"
SURVIVORS = "MPIGRAD_SURVIVORS"  # a folder in which each rank on this host leaves a file when it has run to its end
SPARES = "MPIGRAD_SPARES"  # how many of the last ranks wait to take the place of lost ones
INCARNATION = "MPIGRAD_INCARNATION"  # how many processes were lost in the place of this one
SHORTEST = 0.2  # seconds
# Open MPI sends longer messages in several parts. If a process dies between them, the receive that got the first part never ends,
# and all later messages wait behind it (Open MPI 5.0). So each frame must be sent whole.
WHOLE = ("btl_sm_eager_limit", "btl_sm_max_send_size", "btl_tcp_eager_limit")
WHOLE_BYTES = 66_000  # the longest frame, with Open MPI's header
_ENABLED = "OMPI_MCA_mpi_ft_enable"  # set by `mpirun --with-ft ulfm`


def survive() -> bool:
    """Whether the job was started to go on when a process ends; RuntimeError if the launcher would end it all the
    same.
    """
    if os.environ.get(SURVIVE, "0") in ("", "0"):
        return False
    if os.environ.get(_ENABLED, "0") in ("", "0", "false"):
        raise RuntimeError(
            f"{SURVIVE}=1, but the launcher ends the job when a process ends. Start it with `mpigrad run --survive`, or with "
            "`mpirun --with-ft ulfm` of Open MPI 5; other MPIs cannot survive it (`mpigrad doctor` shows yours)"
        )
    return True


def sends_frames_whole() -> bool:
    """Whether the launcher has told Open MPI to send each frame (message of RPC) in one part."""
    limits = [os.environ.get(f"OMPI_MCA_{name}", "") for name in WHOLE]
    return all(limit.isdigit() and int(limit) >= WHOLE_BYTES for limit in limits)


def heartbeat() -> float:
    """The number of seconds without a heartbeat after which a rank is lost; 0 for no heartbeats."""
    text = os.environ.get(HEARTBEAT, "") or "0"
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if seconds != 0 and not SHORTEST <= seconds < 1e6:
        raise RuntimeError(f"{HEARTBEAT}={text!r} is not a number of seconds: give at least {SHORTEST}, or 0 for no heartbeats")
    return seconds


def spares() -> int:
    """The number of ranks, the last of the job, that wait to take the place of lost ones."""
    return int(os.environ.get(SPARES) or 0)


def incarnation() -> int:
    """How many processes were lost in the place (rank of the program) of this one; 0 for one that runs the program
    from the start.
    """
    return int(os.environ.get(INCARNATION) or 0)


_replaced: int | None = None
_lost_before: frozenset[int] = frozenset()


def take_place(process: int, lost: frozenset[int]) -> None:
    """Called when this process, a spare, takes the place of the lost process `process`; `lost` are all lost ranks of
    MPI that it knows.
    """
    global _replaced, _lost_before
    _replaced, _lost_before = process, lost


def replaced() -> int | None:
    """The rank of MPI of the process whose place this one has taken."""
    return _replaced


def lost_before() -> frozenset[int]:
    """The processes that were lost before this one began to run the program; there may be others."""
    return _lost_before


def end_processes_of(rank: int) -> None:
    """Kill the processes of a rank of this job that are on this host: a stopped process would keep the launcher from ending.

    They are found by the variables that the launcher gave them, so that any rank of the host can do it. Containers that share
    their process ids, but not their host name, are different hosts: a link between them may be cut, and both sides live.
    """
    job = os.environ.get("PMIX_NAMESPACE")
    if job is None:
        return
    marks = [f"PMIX_NAMESPACE={job}".encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode()]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            here = os.stat(f"/proc/{pid}/ns/uts").st_ino == os.stat("/proc/self/ns/uts").st_ino
            if here and int(pid) != os.getpid() and all(mark in variables for mark in marks):
                os.kill(int(pid), signal.SIGKILL)
        except OSError:  # it has ended, or belongs to another user
            continue


def mark_survivor() -> None:
    """Leave a file that says that this rank has run to its end. `mpigrad run` reads it, as launchers exit with 0
    even if all ranks die.
    """
    folder = os.environ.get(SURVIVORS)
    if folder and os.path.isdir(folder):
        with open(os.path.join(folder, str(launched_rank())), "w"):
            pass


def end_alone() -> NoReturn:
    """End this process after an uncaught exception, in a job that goes on without it.

    It ends by a signal: only then does the launcher count it as a death, of which MPI tells the other ranks. The exit
    code of the job is that of the survivors.
    """
    sys.stderr.write(f"mpigrad: rank {launched_rank()} ends because of the exception above; the other ranks go on\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(1)
