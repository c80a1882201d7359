"""What travels from the process that spawns to the ranks, and back: files in a directory of the job's own."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from multiprocessing import spawn as python_spawn
from pathlib import Path
from typing import Any

import cloudpickle

from mpigrad._launch.rank import abort, check_world_size, line_buffered, report

PREPARATION = ("sys_path", "sys_argv", "dir", "orig_dir", "init_main_from_name", "init_main_from_path")


def write_task(directory: Path, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
    """Store the function, by name where that is possible, and what a rank must know of the main module."""
    known = python_spawn.get_preparation_data("rank")
    (directory / "main").write_bytes(pickle.dumps({name: known[name] for name in PREPARATION if name in known}))
    try:
        task = pickle.dumps((fn, args))
    except (pickle.PicklingError, AttributeError, TypeError):
        task = cloudpickle.dumps((fn, args))
    (directory / "task").write_bytes(task)


def read_failures(directory: Path) -> dict[int, tuple[int, str]]:
    """Process id and traceback of each rank that raised."""
    return {int(file.suffix[1:]): pickle.loads(file.read_bytes()) for file in directory.glob("failure.*")}


def ranks_with(directory: Path, what: str) -> dict[int, int]:
    """Process ids of the ranks that have left a mark ("started" or "done")."""
    return {int(file.suffix[1:]): int(file.read_text()) for file in directory.glob(f"{what}.*")}


def _prepare_main(directory: Path) -> None:
    python_spawn.prepare(pickle.loads((directory / "main").read_bytes()))


def _write_failure(directory: Path, rank: int, error: BaseException) -> None:
    temporary = directory / f"writing-{rank}"
    temporary.write_bytes(pickle.dumps((os.getpid(), "".join(traceback.format_exception(error)))))
    temporary.rename(directory / f"failure.{rank}")


def main(name: str) -> None:
    """Be one of the spawned ranks."""
    check_world_size()
    line_buffered()
    from mpi4py import MPI

    directory, rank = Path(name), MPI.COMM_WORLD.rank
    (directory / f"started.{rank}").write_text(str(os.getpid()))
    try:
        _prepare_main(directory)
        fn, args = pickle.loads((directory / "task").read_bytes())
        fn(rank, *args)
    except SystemExit as stop:
        if stop.code:
            abort(stop.code if isinstance(stop.code, int) else 1)
    except BaseException as error:
        _write_failure(directory, rank, error)
        report(error)
        abort(1)
    (directory / f"done.{rank}").write_text(str(os.getpid()))
