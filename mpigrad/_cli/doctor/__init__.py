"""`mpigrad doctor`: one page on the MPI set-up, with what to do about each problem."""

from mpigrad._cli.doctor.command import add_parser

__all__ = ["add_parser"]
