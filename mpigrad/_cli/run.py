"""`mpigrad run`: start a program on several ranks with the launcher that belongs to mpi4py."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile

from mpigrad._launch.allocation import current_allocation
from mpigrad._launch.command import default_ranks, job_for, rank_program, surviving
from mpigrad._launch.launcher import find_launcher
from mpigrad._launch.process import run_job
from mpigrad._process.rank import launched_rank, launched_size
from mpigrad._process.survival import HEARTBEAT, SPARES, SURVIVE, SURVIVORS
from mpigrad._watchdog import attach, jobs

EPILOG = """\
Without -n: as many ranks as the allocation (SLURM, PBS) has tasks, or as this machine has cores.
`mpirun python SCRIPT` and `srun python SCRIPT` work as well; this command finds the right launcher, lets it run as
root and with more ranks than cores, and ends the whole job with the traceback when a rank fails.

  mpigrad run -n 4 train.py --epochs 3
  mpigrad run -n 4 --prefix -m package.train
"""


def add_parser(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare the command-line arguments of `mpigrad run`."""
    parser = commands.add_parser(
        "run",
        help="run a script on several ranks",
        description="Start a Python program on several ranks (processes of an MPI job), and wait until it ends.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-n", "--ranks", type=int, metavar="N", help="number of ranks (see below for the default)")
    parser.add_argument("--prefix", action="store_true", help="put the rank in front of every line of output")
    parser.add_argument("--top", action="store_true", help="print the `mpigrad top` command for this job")
    parser.add_argument("--survive", action="store_true", help="go on when ranks die (Open MPI 5); see docs/guides/surviving.md")
    parser.add_argument(
        "--heartbeat", type=float, default=0.0, metavar="SECONDS", help="count a rank as lost if it is silent for so long"
    )
    parser.add_argument(
        "--spares", type=int, default=0, metavar="N", help="further ranks, which wait and take the places of lost ones"
    )
    parser.add_argument("--option", action="append", default=[], metavar="OPT", help="an option for mpiexec (repeatable)")
    parser.add_argument(
        "--stage", action="store_true", help="copy the Python environment to $TMPDIR (or /tmp) of each node, import from there"
    )
    parser.add_argument("--show", action="store_true", help="print the launcher's command instead of running it")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is the name of a module")
    parser.add_argument("script", nargs="?", metavar="SCRIPT", help="a Python file, or a module after -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS", help="arguments of the script")
    parser.set_defaults(action=run)


def check_outside_job() -> None:
    """Raise an error if this process is a rank of a job: jobs cannot be nested."""
    size = launched_size()
    if launched_rank() is not None and size is not None:
        raise ValueError(
            f"this is rank {launched_rank()} of a job of {size} ranks already; "
            "start `mpigrad run` outside of mpiexec and srun, or run the script itself there"
        )


def check_script(args: argparse.Namespace) -> None:
    """Fail early if the script does not exist, rather than once in every rank."""
    if args.script is None:
        raise ValueError("no script: give a Python script, or -m and the name of a module: mpigrad run -n 4 train.py")
    if not args.module and not os.path.exists(args.script):
        raise ValueError(f"{args.script!r} is not a file; give a Python script, or -m and the name of a module")


def check_spares(args: argparse.Namespace) -> None:
    """Raise an error if there can be no spares."""
    if args.spares < 0:
        raise ValueError(f"the number of spares must not be negative, got {args.spares}")
    if not args.survive:
        raise ValueError("--spares needs --survive: without it the job ends when a rank dies")


def name_job(args: argparse.Namespace) -> str:
    """A name for the job, by which `mpigrad top` finds it; printed if that was asked for."""
    name = attach.job_name(args.script, os.getpid())
    if args.top and jobs.VARIABLE not in os.environ:
        allocation = current_allocation()
        if allocation is not None and allocation.nodes > 1:
            raise ValueError(f"--top on several nodes needs {jobs.VARIABLE}=DIRECTORY, on a file system that all of them share")
        print(f"mpigrad: `mpigrad top {name}` shows what the ranks do", file=sys.stderr)
    return name


def run(args: argparse.Namespace) -> int:
    """Start the job, wait for it and return its exit code."""
    check_outside_job()
    check_script(args)
    ranks = default_ranks() if args.ranks is None else args.ranks
    launcher = find_launcher()
    script = ["-m", args.script] if args.module else [args.script]
    options = [word for option in args.option for word in shlex.split(option)]
    variables = {attach.JOB: name_job(args)}
    if args.survive:
        options = [*surviving(launcher), *options]
        variables |= {SURVIVE: "1", SURVIVORS: "" if args.show else tempfile.mkdtemp(prefix="mpigrad-")}
    if args.spares:
        check_spares(args)
        variables[SPARES] = str(args.spares)
    if args.heartbeat:
        variables[HEARTBEAT] = str(args.heartbeat)
    staged = ["--stage"] if args.stage else []
    program = rank_program(*staged, *script, *args.arguments)
    job = job_for(launcher, ranks + args.spares, program, tagged=args.prefix, options=options, variables=variables)
    if args.show:
        print(shlex.join(job.command))
        return 0
    code = run_job(job, tagged=args.prefix)
    return code_of_survivors(code, variables[SURVIVORS]) if args.survive else code


def code_of_survivors(code: int, folder: str) -> int:
    """The exit code of a job that survives deaths: the launcher's, which is the survivors', but 1 if there are none."""
    survivors = os.listdir(folder)
    shutil.rmtree(folder, ignore_errors=True)
    allocation = current_allocation()
    if code or survivors or (allocation is not None and allocation.nodes > 1):  # ranks of other hosts leave no file here
        return code
    print("mpigrad: no rank has survived", file=sys.stderr)
    return 1
