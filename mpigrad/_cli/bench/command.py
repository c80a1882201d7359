"""The arguments of `mpigrad bench` and the job that measures."""

from __future__ import annotations

import argparse


def add_parser(commands: argparse._SubParsersAction) -> None:  # type: ignore[type-arg]
    """Declare the arguments."""
    parser = commands.add_parser("bench", help="measure RPC and autograd between the ranks")
    parser.set_defaults(action=lambda args: 1)
