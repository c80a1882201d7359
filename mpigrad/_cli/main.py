"""The `mpigrad` command: its parser and entry point. Each subcommand is a module of this package."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from mpigrad._cli import bench, doctor, run, top, trace
from mpigrad._launch.launcher import LauncherError
from mpigrad._version import __version__


def parser() -> argparse.ArgumentParser:
    """The arguments of all subcommands."""
    parser = argparse.ArgumentParser(prog="mpigrad", description="Distributed autograd on MPI.")
    parser.add_argument("--version", action="version", version=f"mpigrad {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for module in (run, doctor, bench, trace, top):
        module.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    args = parser().parse_args(arguments)
    try:
        code = int(args.action(args))
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # `mpigrad doctor | head`: the reader is gone, also for Python's flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (LauncherError, ValueError) as error:
        print(f"mpigrad: {error}", file=sys.stderr)
        return 2
