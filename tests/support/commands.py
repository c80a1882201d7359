"""Python in processes of its own, with an environment that no launcher has touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHOSEN = "OMPI_MCA_btl"  # by tools/make/test.mk for all tests; launchers set other variables


def clean_environment() -> dict[str, str]:
    """This environment without what a launcher has put into it."""
    prefixes = ("OMPI_", "PMI", "PRTE_", "SLURM_", "PBS_", "MPIGRAD_")
    kept = {name: value for name, value in os.environ.items() if name == CHOSEN or not name.startswith(prefixes)}
    return {**kept, "PYTHONPATH": str(ROOT)}


def set_signals(ignored: tuple[signal.Signals, ...] = ()) -> None:
    """Ignore these signals and no others, for `preexec_fn`: a shell has what it starts in the background ignore some."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def run_python(directory: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments and environment variables."""
    command = [sys.executable, *arguments]
    environment = {**clean_environment(), **variables}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=55)
