"""Chooses the transport that works with this process's MPI library."""

from __future__ import annotations

import os
from typing import Any

from mpigrad._core.rpc.mpi import MPITransport
from mpigrad._process.survival import heartbeat, survive
from mpigrad.distributed._mpi import mpi

NO_SHARED_MEMORY = ("MPIR_CVAR_NOLOCAL", "MPIR_CVAR_NO_LOCAL")  # MPICH then uses the network between ranks of one host, too


def on_several_hosts(size: int) -> bool:
    """Return whether the `size` ranks of the job may be on several hosts, or MPICH treats them so; True if that is not known.

    Taken from environment variables, since asking MPI would be a collective operation.
    """
    if any(os.environ.get(name, "0") != "0" for name in NO_SHARED_MEMORY):
        return size > 1
    local = os.environ.get("MPI_LOCALNRANKS", "")
    if local.isdigit():
        return int(local) < size
    return size > 1 and os.environ.get("SLURM_STEP_NUM_NODES") != "1"


def open_transport(comm: Any, first_tag: int = 0, tags: int = 0) -> MPITransport:
    """Return the transport for a communicator that suits this MPI library and job.

    All kinds send the same frames, so ranks may choose differently. `first_tag` is the first MPI tag that it may use; `tags`
    is how many, in a job that survives deaths, or 0 for all that follow.
    """
    MPI = mpi()
    surviving = survive() or heartbeat() > 0
    # MPICH's ucx device between hosts: see mpi_probing.py for what hangs there
    probing = "ch4:ucx" in MPI.Get_library_version() and comm.Get_size() > 1 and on_several_hosts(MPI.COMM_WORLD.Get_size())
    if surviving:
        from .mpi_surviving import SurvivingProbedTransport, SurvivingTransport

        return (SurvivingProbedTransport if probing else SurvivingTransport)(comm, first_tag, tags)
    if probing:
        from .mpi_probing import ProbedTransport

        return ProbedTransport(comm, first_tag)
    return MPITransport(comm, first_tag)
