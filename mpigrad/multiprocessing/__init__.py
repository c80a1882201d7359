"""The API of `torch.multiprocessing`: `spawn` starts the ranks of an MPI job from a plain `python main.py`.

A program that starts its processes in a loop of `Process(...).start()` gets ranks of an MPI job, too.
"""

from __future__ import annotations

from multiprocessing import *
from multiprocessing import __all__ as _python_names

from mpigrad.multiprocessing import reductions
from mpigrad.multiprocessing._context import ProcessContext, SpawnContext
from mpigrad.multiprocessing._errors import ProcessException, ProcessExitedException, ProcessRaisedException
from mpigrad.multiprocessing._process import Process, get_context
from mpigrad.multiprocessing._spawn import spawn, start_processes
from mpigrad.multiprocessing.reductions import init_reductions

init_reductions()

__all__ = [
    *_python_names,
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "init_reductions",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """The names of the methods to share memory between processes: only "file_descriptor".

    >>> import mpigrad.multiprocessing as mp
    >>> mp.get_all_sharing_strategies()
    {'file_descriptor'}
    """
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """The name of the method by which memory is shared: always "file_descriptor".

    >>> import mpigrad.multiprocessing as mp
    >>> mp.get_sharing_strategy()
    'file_descriptor'
    """
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the method by which memory is shared, `new_strategy`; only "file_descriptor" is valid.

    >>> import mpigrad.multiprocessing as mp
    >>> mp.set_sharing_strategy("file_descriptor")
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy got {new_strategy!r}; it can be {sorted(get_all_sharing_strategies())}")
