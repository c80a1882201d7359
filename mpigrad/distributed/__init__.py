"""Distributed mpigrad: process groups, RPC and distributed autograd, on MPI. Importing this does not touch MPI."""

from __future__ import annotations


def is_available() -> bool:
    """Whether mpi4py is installed.

    >>> is_available()
    True
    """
    from mpigrad.distributed import _mpi

    return _mpi.available()
