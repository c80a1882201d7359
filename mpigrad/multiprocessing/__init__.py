"""Processes, as in `torch.multiprocessing`: Python's own names, and `spawn`, whose processes are MPI ranks."""

from __future__ import annotations

from multiprocessing import *
from multiprocessing import __all__ as _python_names

from mpigrad.multiprocessing._context import ProcessContext, SpawnContext
from mpigrad.multiprocessing._errors import ProcessException, ProcessExitedException, ProcessRaisedException
from mpigrad.multiprocessing._spawn import spawn, start_processes

__all__ = [
    *_python_names,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]
