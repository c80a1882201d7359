"""Run a program as one rank of a job: python -m mpigrad._launch.rank (SCRIPT | -m MODULE) ARGUMENTS...

A rank that fails ends the whole job, with its traceback, instead of leaving the others waiting for it.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

from mpigrad._launch.command import EXPECTED_SIZE


def abort(code: int) -> NoReturn:
    """End the job on all ranks."""
    sys.stdout.flush()
    sys.stderr.flush()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.COMM_WORLD.Abort(code)
    os._exit(code)  # without MPI the launcher notices the code


def check_world_size() -> None:
    """Stop when the launcher has started singletons: it belongs to another MPI than mpi4py uses."""
    expected = os.environ.get(EXPECTED_SIZE)
    if expected is None:
        return
    from mpi4py import MPI

    if int(expected) != MPI.COMM_WORLD.size:
        library = MPI.Get_library_version().split(",")[0].splitlines()[0]
        print(
            f"mpigrad: the job was started with {expected} ranks, but MPI sees {MPI.COMM_WORLD.size}. The launcher "
            f"belongs to another MPI than the one mpi4py uses ({library}); `mpigrad doctor` shows both",
            file=sys.stderr,
            flush=True,
        )
        abort(1)


def guarded(body: Callable[[], object]) -> None:
    """Run the body; an exception or a non-zero exit ends the whole job."""
    try:
        body()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        if code:
            abort(code)
    except BaseException as error:
        report(error)
        abort(1)


def report(error: BaseException) -> None:
    """Print a traceback under the rank's name, in one piece."""
    from mpigrad._process.rank import launched_rank

    own = (__file__, runpy.__file__, "<frozen runpy>")
    while error.__traceback__ is not None and error.__traceback__.tb_frame.f_code.co_filename in own:
        error.__traceback__ = error.__traceback__.tb_next
    text = "".join(traceback.format_exception(error))
    sys.stderr.write(f"mpigrad: rank {launched_rank()} failed and ends the job:\n{text}")


def line_buffered() -> None:
    """Write whole lines: launchers merge the ranks' output, and only a terminal is line-buffered by itself."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True, write_through=False)


def main(arguments: list[str]) -> None:
    """Check the job, then become the program."""
    check_world_size()
    line_buffered()
    sys.argv[:] = arguments[1:] if arguments[0] == "-m" else arguments
    if arguments[0] == "-m":
        guarded(lambda: runpy.run_module(arguments[1], run_name="__main__", alter_sys=True))
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        guarded(lambda: runpy.run_path(arguments[0], run_name="__main__"))


if __name__ == "__main__":
    main(sys.argv[1:])
