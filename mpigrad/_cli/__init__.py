"""The `mpigrad` command: run a job, examine the MPI set-up, measure it."""

from mpigrad._cli.main import main

__all__ = ["main"]
