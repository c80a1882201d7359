"""Exit without MPI_Finalize: for a forked child, and for a worker whose shutdown timed out.

mpi4py calls MPI_Finalize when Python ends, after all Python code, and offers no way to prevent it once it is imported (the usual
programs import it before this package). A forked child shares the connections of its parent and would finalise for it. After a
shutdown that timed out, MPI_Finalize would wait forever for the worker that did not answer. So the pointer through which mpi4py
calls it is replaced by one to a function that does nothing. No code is changed, and the exit code stays the program's, which
ending the process here could not know.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from .linkage import replace_import

_NOTHING = "sched_yield"  # no arguments, returns 0, which is MPI_SUCCESS

_parent = 0
_when_forked: list[Callable[[str], None]] = []


def when_forked(run: Callable[[str], None]) -> None:
    """Call `run(why)` in every child that is forked while MPI runs, where RPC and process groups are unusable."""
    _when_forked.append(run)


def why_unusable() -> str | None:
    """The reason why MPI must not be used in this process; None if it may be."""
    if not _parent:
        return None
    return (
        f"this process was forked from process {_parent}, in which MPI was running: MPI, RPC and process groups work in the "
        "parent only. Fork before init_rpc and init_process_group, or start processes with multiprocessing's 'spawn' method"
    )


def leave_mpi_unfinalised() -> bool:
    """Make mpi4py's call of MPI_Finalize do nothing in this process; False if the system does not support it."""
    path = getattr(sys.modules.get("mpi4py.MPI"), "__file__", None)
    return path is not None and replace_import(path, "MPI_Finalize", _NOTHING)


def _forked() -> None:
    """Runs in every child of `os.fork`: if MPI is running, forbid its use and its finalisation here."""
    global _parent
    module = sys.modules.get("mpi4py.MPI")
    if module is None or not module.Is_initialized() or module.Is_finalized():
        return
    _parent = os.getppid()
    leave_mpi_unfinalised()
    why = why_unusable()
    assert why is not None
    for run in _when_forked:
        run(why)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
