"""Files in a temporary directory of the job, through which the spawning process and the ranks exchange tasks and results."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import current_process
from multiprocessing import spawn as python_spawn
from pathlib import Path
from typing import Any, NamedTuple

from mpigrad._launch.rank import abort, check_world_size, line_buffered, report
from mpigrad._process.rank import launched_rank
from mpigrad.multiprocessing.reductions import dumps_for_ranks

PREPARATION = ("sys_path", "sys_argv", "dir", "orig_dir", "init_main_from_name", "init_main_from_path")


class Task(NamedTuple):
    """The function and arguments of a rank; with `numbered` the rank is the first argument."""

    fn: Callable[..., object]
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    numbered: bool


def write_tasks(directory: Path, tasks: Sequence[Task]) -> None:
    """Write the task of each rank, and the state of this process that ranks need (main module, path, authkey).

    Functions are stored by name where ranks can import the main module, and by value in notebooks and at the prompt.
    """
    known = python_spawn.get_preparation_data("rank")
    if not os.path.exists(known.get("init_main_from_path", "")):
        known.pop("init_main_from_path", None)  # at the prompt Python reports a file called <stdin>
    importable = "init_main_from_name" in known or "init_main_from_path" in known
    preparation = {name: known[name] for name in PREPARATION if name in known}
    preparation["authkey"] = bytes(known["authkey"])  # the directory is readable by this user only
    (directory / "main").write_bytes(pickle.dumps(preparation))
    data, once = b"", True  # `once`: the pickle refers to open files, which only one rank can receive
    for rank, task in enumerate(tasks):
        if once or task is not tasks[rank - 1]:
            data, once = _dumps(task, importable)
        (directory / f"task.{rank}").write_bytes(data)


def _dumps(task: Task, importable: bool) -> tuple[bytes, bool]:
    if importable:
        try:
            return dumps_for_ranks(task, by_value=False)
        # a lambda or a function inside another one: stored by value below
        except (pickle.PicklingError, AttributeError, TypeError):
            pass
    return dumps_for_ranks(task, by_value=True)


class Start(NamedTuple):
    """A file by which a rank says that it has started: its host and process id."""

    host: str
    pid: int


class Failure(NamedTuple):
    """A file by which a rank says that it has failed: a traceback or an exit code."""

    pid: int
    traceback: str | None
    code: int


def _leave(directory: Path, what: str, rank: int, value: object) -> None:
    """Write a mark: a file named after `what` and the rank, with a pickled value. Atomic, so that no reader sees an
    incomplete one.
    """
    temporary = directory / f"writing-{rank}"
    temporary.write_bytes(pickle.dumps(value))
    temporary.rename(directory / f"{what}.{rank}")


def marks(directory: Path, what: str) -> dict[int, Any]:
    """The marks, files that ranks have left ("started", "done" or "failure"), the oldest first."""
    files = sorted(directory.glob(f"{what}.*"), key=lambda file: file.stat().st_mtime_ns)
    return {int(file.suffix[1:]): pickle.loads(file.read_bytes()) for file in files}


def _prepare_main(directory: Path) -> None:
    known = pickle.loads((directory / "main").read_bytes())
    current_process().authkey = known.pop("authkey")
    python_spawn.prepare(known)


def _exit_code(stop: SystemExit) -> int:
    """The exit code for a SystemExit; a text is printed, as Python does."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def main(name: str) -> None:
    """Entry point of a spawned rank: run its task."""
    directory, rank, pid = Path(name), launched_rank(), os.getpid()
    if rank is not None:  # before MPI is initialised, so that the spawning process knows all ranks before one can fail
        _leave(directory, "started", rank, Start(socket.gethostname(), pid))
    check_world_size()
    line_buffered()
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    try:
        _prepare_main(directory)
        task: Task = pickle.loads((directory / f"task.{rank}").read_bytes())
        task.fn(*([rank] if task.numbered else []), *task.args, **task.keywords)
    except SystemExit as stop:
        if code := _exit_code(stop):
            _leave(directory, "failure", rank, Failure(pid, None, code))
            abort(code)
    except BaseException as error:
        # before the abort: other ranks fail because of it, and the oldest mark names the cause
        _leave(directory, "failure", rank, Failure(pid, "".join(traceback.format_exception(error)), 1))
        report(error)
        abort(1)
    _leave(directory, "done", rank, pid)
