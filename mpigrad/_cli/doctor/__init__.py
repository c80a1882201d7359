"""`mpigrad doctor`: a report on the MPI set-up, with advice for each problem."""

from mpigrad._cli.doctor.command import add_parser

__all__ = ["add_parser"]
