"""What travels from the process that spawns to the ranks, and back: files in a directory of the job's own."""

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
    """What a rank calls; `numbered` puts its rank before the arguments."""

    fn: Callable[..., object]
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    numbered: bool


def write_tasks(directory: Path, tasks: Sequence[Task]) -> None:
    """Store what each rank calls, and what it must know of this process and its main module.

    Functions are stored by name where ranks can import the main module, and by value in notebooks and at the prompt.
    """
    known = python_spawn.get_preparation_data("rank")
    if not os.path.exists(known.get("init_main_from_path", "")):
        known.pop("init_main_from_path", None)  # Python takes the prompt for a file called <stdin>
    importable = "init_main_from_name" in known or "init_main_from_path" in known
    preparation = {name: known[name] for name in PREPARATION if name in known}
    preparation["authkey"] = bytes(known["authkey"])  # the directory can be read by this user only
    (directory / "main").write_bytes(pickle.dumps(preparation))
    data, once = b"", True  # `once`: it has open files, which one rank can take
    for rank, task in enumerate(tasks):
        if once or task is not tasks[rank - 1]:
            data, once = _dumps(task, importable)
        (directory / f"task.{rank}").write_bytes(data)


def _dumps(task: Task, importable: bool) -> tuple[bytes, bool]:
    if importable:
        try:
            return dumps_for_ranks(task, by_value=False)
        except (pickle.PicklingError, AttributeError, TypeError):
            pass
    return dumps_for_ranks(task, by_value=True)


class Start(NamedTuple):
    """Where a rank lives."""

    host: str
    pid: int


class Failure(NamedTuple):
    """How a rank has ended by its own will: with a traceback, or with a code."""

    pid: int
    traceback: str | None
    code: int


def _leave(directory: Path, what: str, rank: int, value: object) -> None:
    """Write a mark in one go, so that nobody reads half of it."""
    temporary = directory / f"writing-{rank}"
    temporary.write_bytes(pickle.dumps(value))
    temporary.rename(directory / f"{what}.{rank}")


def marks(directory: Path, what: str) -> dict[int, Any]:
    """The marks that ranks have left ("started", "done" or "failure"), the oldest first."""
    files = sorted(directory.glob(f"{what}.*"), key=lambda file: file.stat().st_mtime_ns)
    return {int(file.suffix[1:]): pickle.loads(file.read_bytes()) for file in files}


def _prepare_main(directory: Path) -> None:
    known = pickle.loads((directory / "main").read_bytes())
    current_process().authkey = known.pop("authkey")
    python_spawn.prepare(known)


def _exit_code(stop: SystemExit) -> int:
    """What Python would exit with; a text is printed, as it does."""
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def main(name: str) -> None:
    """Be one of the spawned ranks."""
    directory, rank, pid = Path(name), launched_rank(), os.getpid()
    if rank is not None:  # as early as can be, while MPI starts: whoever watches has seen all ranks before one can fail
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
        _leave(directory, "failure", rank, Failure(pid, "".join(traceback.format_exception(error)), 1))
        report(error)
        abort(1)
    _leave(directory, "done", rank, pid)
