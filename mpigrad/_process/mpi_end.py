"""Exit without MPI_Finalize: for a forked child, and for a worker whose shutdown timed out.

mpi4py calls MPI_Finalize when Python ends, after all Python code, and offers no way to prevent it. A forked child shares the
connections of its parent and would finalise for it. After a shutdown that timed out, MPI_Finalize would wait for ever for the
worker that did not answer. So the function is patched in memory to return at once.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import sys
from collections.abc import Callable

_RETURN_ZERO = {"x86_64": b"\x31\xc0\xc3", "AMD64": b"\x31\xc0\xc3"}  # xor eax, eax; ret
_LANDING = b"\xf3\x0f\x1e\xfa"  # endbr64: with control-flow enforcement a call target must begin with it, so it is kept
_EVERY_ACCESS = 7  # PROT_READ | PROT_WRITE | PROT_EXEC

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
    """Patch MPI_Finalize in this process to return at once; False if this machine does not support it. The exit code stays."""
    code, module = _RETURN_ZERO.get(platform.machine()), sys.modules.get("mpi4py.MPI")
    if code is None or module is None or not module.__file__:
        return False
    function = ctypes.cast(ctypes.CDLL(module.__file__).MPI_Finalize, ctypes.c_void_p).value or 0
    start = function + len(_LANDING) if ctypes.string_at(function, len(_LANDING)) == _LANDING else function
    page = start - start % mmap.PAGESIZE
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    if protect(page, start + len(code) - page, _EVERY_ACCESS):
        return False
    ctypes.memmove(start, code, len(code))
    return True


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
