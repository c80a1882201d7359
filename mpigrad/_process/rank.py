"""Rank and size of this process from the launcher's environment variables, without initialising MPI."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping

EXPECTED_SIZE = "MPIGRAD_EXPECTED_SIZE"
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
LOCAL_RANK_VARIABLES = (
    "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
    "LOCAL_RANK",
)  # fmt: skip
LOCAL_SIZE_VARIABLES = (
    "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE",
)  # fmt: skip

_LAUNCHERS = (
    "OMPI_", "PMIX_", "PMI_", "PRTE_", "PMIX", "MPI_LOCAL", "HYDRA_", "HYDI_", "SLURM_", "I_MPI_", "MV2_", EXPECTED_SIZE,
)  # fmt: skip
_SETTINGS = ("OMPI_MCA_", "OMPI_ALLOW_", "PRTE_ALLOW_")


def _first(names: tuple[str, ...]) -> int | None:
    for name in names:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def in_slurm_step() -> bool:
    """Whether srun started this process; False in the batch script itself."""
    return "SLURM_PROCID" in os.environ and os.environ.get("SLURM_STEP_ID", "").isdigit()


def launched_rank() -> int | None:
    """The rank that a launcher has given to this process, or None outside one."""
    rank = _first(RANK_VARIABLES)
    return int(os.environ["SLURM_PROCID"]) if rank is None and in_slurm_step() else rank


def launched_size() -> int | None:
    """The number of ranks of this process's job, or None outside a launcher."""
    size = _first(SIZE_VARIABLES)
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) if size is None and in_slurm_step() else size


def singletons(world_size: int) -> str | None:
    """The cause if the launcher has started several ranks but MPI sees a world of one; None otherwise."""
    started = launched_size()
    if world_size != 1 or started is None or started == 1:
        return None
    return (
        f"the launcher has started {started} ranks, but MPI sees a world of one: it is not the launcher of mpi4py's MPI. "
        "With srun use --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH; `mpigrad doctor` shows more"
    )


def check_expected_size(world_size: int) -> None:
    """Raise a RuntimeError if `mpigrad run` or `spawn` started another number of ranks than MPI sees."""
    expected = os.environ.get(EXPECTED_SIZE)
    if expected is not None and int(expected) != world_size:
        raise RuntimeError(
            f"the job was started with {expected} ranks, but MPI sees {world_size}. The launcher belongs to another MPI than "
            "the one mpi4py uses (with srun use --mpi=pmix for Open MPI, --mpi=pmi2 for MPICH); `mpigrad doctor` shows both"
        )


def how_to_start(world_size: int | None) -> str:
    """Advice on how to start the ranks of a job, for error messages in processes that were started without a
    launcher.
    """
    size, own = world_size or "N", _command()
    apart = f"{own} : -n 1 {own} ..." if own else "python main.py --rank 0 : -n 1 python main.py --rank 1"
    text = (
        f"MPI starts the ranks of a job together: `mpiexec -n {size} python main.py`, `mpigrad run -n {size} main.py`, or, if "
        f"the ranks have different arguments, `mpiexec -n 1 {apart}`"
    )
    if is_child():
        text += "; in programs that start processes themselves, mpigrad.multiprocessing.spawn, or set_start_method('spawn')"
    return text


def _command() -> str:
    """The command line of this process, if it has an option for the rank."""
    words = sys.argv
    return shlex.join(["python", *words]) if any(re.match(r"--?(node[-_]?)?rank\b", word) for word in words[1:]) else ""


def is_child() -> bool:
    """Whether Python's multiprocessing has started this process."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def local_rank() -> int | None:
    """The number of this process among those of its job on the same host; None if the launcher does not provide it."""
    return _first(LOCAL_RANK_VARIABLES)


def local_size() -> int | None:
    """The number of processes of the job on this host; None if the launcher does not provide it."""
    size = _first(LOCAL_SIZE_VARIABLES)
    if size is None and in_slurm_step():
        tasks = os.environ.get("SLURM_STEP_TASKS_PER_NODE", "").partition("(")[0]
        return int(tasks) if tasks.isdigit() else None
    return size


def without_launcher(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy of an environment without the variables that make a process a rank of a job; settings of MPI are kept."""
    return {
        name: value for name, value in environment.items() if not name.startswith(_LAUNCHERS) or name.startswith(_SETTINGS)
    }
