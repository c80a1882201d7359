"""Runs a program as one rank of a job; `start.py` calls `main`.

A rank that fails prints its traceback and aborts the whole job; the other ranks would wait for it otherwise.
"""

from __future__ import annotations

import importlib
import io
import os
import runpy
import socket
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from mpigrad._launch.command import START
from mpigrad._process.mpi_end import leave_mpi_unfinalised
from mpigrad._process.rank import EXPECTED_SIZE, check_expected_size, launched_rank
from mpigrad._process.survival import end_alone, mark_survivor, spares, survive
from mpigrad._watchdog.report import start_reporting

TORCHRUN_PORT = "29500"


def abort(code: int) -> NoReturn:
    """Abort the job on all ranks."""
    sys.stdout.flush()
    sys.stderr.flush()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.COMM_WORLD.Abort(code)
    os._exit(code)  # without MPI the launcher ends the job because of the exit code


def check_world_size() -> None:
    """Abort if the launcher has started singletons, because it belongs to another MPI than mpi4py's."""
    if EXPECTED_SIZE not in os.environ:
        return
    from mpi4py import MPI

    try:
        check_expected_size(MPI.COMM_WORLD.size)
    except RuntimeError as error:
        print(f"mpigrad: {error}", file=sys.stderr, flush=True)
        abort(1)


def publish_place() -> None:
    """Set the environment variables of torchrun (RANK, WORLD_SIZE, ...) for programs that read them."""
    from mpi4py import MPI

    # from MPI itself and not from the launcher's variables, whose names differ
    world = MPI.COMM_WORLD
    host = world.Split_type(MPI.COMM_TYPE_SHARED)
    os.environ |= {"RANK": str(world.rank), "WORLD_SIZE": str(world.size - spares())}
    os.environ |= {"LOCAL_RANK": str(host.rank), "LOCAL_WORLD_SIZE": str(host.size)}
    host.Free()
    os.environ.setdefault("MASTER_ADDR", world.bcast(socket.gethostname()))
    os.environ.setdefault("MASTER_PORT", TORCHRUN_PORT)


def _is_needed() -> bool:
    """Whether this rank is to run the program. A spare waits here until it takes the place of a lost rank, or the job
    ends.
    """
    if not spares() or int(os.environ["RANK"]) < int(os.environ["WORLD_SIZE"]):
        return True
    from mpigrad.distributed._spares import wait_as_spare

    leave_mpi_unfinalised()  # MPI_Finalize may wait for a lost rank
    return wait_as_spare()


def _came_to_end() -> None:
    """Note that this rank has run to its end and was not killed."""
    if spares() and os.environ["RANK"] == "0":
        from mpigrad.distributed._spares import tell_over

        tell_over()
    mark_survivor()


def guarded(body: Callable[[], object]) -> None:
    """Run the body; an exception or a non-zero exit code aborts the whole job, or ends only this rank in a job that
    survives that.
    """
    try:
        body()
        _came_to_end()
    except SystemExit as stop:
        # as Python does: sys.exit(None) is success, sys.exit("text") prints the text and is a failure
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        _came_to_end()
        if code and survive():
            raise SystemExit(code) from None  # the end of this rank alone, with the handlers of `atexit`
        if code:
            abort(code)
    except BaseException as error:
        report(error)
        if survive():
            end_alone()
        abort(1)


def report(error: BaseException) -> None:
    """Print a traceback with the rank, in a single write, so that the output of ranks does not interleave."""
    own = (__file__, START, runpy.__file__, "<frozen runpy>")
    # the user's program begins below these frames
    while error.__traceback__ is not None and error.__traceback__.tb_frame.f_code.co_filename in own:
        error.__traceback__ = error.__traceback__.tb_next
    text = "".join(traceback.format_exception(error))
    ends = "" if survive() else " and ends the job"
    sys.stderr.write(f"mpigrad: rank {launched_rank()} failed{ends}:\n{text}")


def line_buffered() -> None:
    """Make stdout and stderr line-buffered: launchers merge the output of ranks, and Python buffers lines only on terminals."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def _go_first(directory: str) -> None:
    """Put a directory first on the program's import path, as Python does, unless -P forbids it."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, directory)


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == "mpigrad"


def main(arguments: list[str]) -> None:
    """Check the job, then run the program."""
    if arguments[0] == "--spawned":
        importlib.import_module("mpigrad.multiprocessing._task").main(arguments[1])
        return
    check_world_size()
    line_buffered()
    publish_place()
    if not _is_needed():
        return
    start_reporting()
    sys.argv[:] = arguments[1:] if arguments[0] == "-m" else arguments
    if arguments[0] == "-m":
        # mpigrad's own modules (doctor, bench) must not import a file of the current directory by mistake
        if not _is_own(arguments[1]):
            _go_first(os.getcwd())
        guarded(lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True))
    else:
        _go_first(os.path.dirname(os.path.abspath(arguments[0])))
        guarded(lambda: runpy.run_path(arguments[0], run_name="__main__"))
