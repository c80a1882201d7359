"""Runs Python in separate processes, in an environment without the variables of a launcher."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHOSEN = "OMPI_MCA_btl"  # by tools/make/test.mk for all tests; launchers set other variables


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without the variables that a launcher has set."""
    prefixes = ("OMPI_", "PMI", "PRTE_", "SLURM_", "PBS_", "MPIGRAD_")
    kept = {name: value for name, value in os.environ.items() if name == CHOSEN or not name.startswith(prefixes)}
    return {**kept, "PYTHONPATH": str(ROOT)}


def set_signals(ignored: tuple[signal.Signals, ...] = ()) -> None:
    """Ignore these signals and no others; for `preexec_fn`.

    A shell makes the processes that it starts in the background ignore some signals.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def run_python(directory: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and environment variables."""
    command = [sys.executable, *arguments]
    environment = {**clean_environment(), **variables}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=55)
