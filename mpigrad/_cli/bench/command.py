"""The arguments of `mpigrad bench`. It starts a job, or measures in the job in which it runs."""

from __future__ import annotations

import argparse

from mpigrad._launch.command import job_for, rank_program
from mpigrad._launch.launcher import find_launcher
from mpigrad._launch.process import run_job
from mpigrad._process.rank import launched_size

EPILOG = """\
Inside a job every rank takes part:  srun -n 64 mpigrad bench
Elsewhere it starts ranks on this machine:  mpigrad bench -n 2
"""


def add_parser(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare the command-line arguments of `mpigrad bench`."""
    parser = commands.add_parser(
        "bench",
        help="measure RPC and autograd between the ranks",
        description="Measure how long calls and backward passes between two ranks take, and print tables.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--ranks", type=int, default=2, metavar="N", help="ranks to start (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each line of the tables (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="only a few milliseconds for each line, to see whether it works")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers to a file")
    parser.add_argument("--plot", metavar="FILE", help="also plot latency and bandwidth against size (needs matplotlib)")
    parser.set_defaults(action=run)


def arguments_of(args: argparse.Namespace) -> list[str]:
    """The options as command-line arguments, for the ranks."""
    words = ["--seconds", str(args.seconds)] + ["--quick"] * args.quick
    for name in ("json", "plot"):
        if getattr(args, name):
            words += [f"--{name}", getattr(args, name)]
    return words


def run(args: argparse.Namespace) -> int:
    """Measure if this process is a rank, otherwise start the ranks."""
    if launched_size() is not None:
        from mpigrad._cli.bench.job import measure_in_job

        return measure_in_job(args)
    if args.ranks < 2:
        raise ValueError(f"the benchmark needs at least 2 ranks, not {args.ranks}")
    program = rank_program("-m", "mpigrad", "bench", *arguments_of(args))
    return run_job(job_for(find_launcher(), args.ranks, program))
