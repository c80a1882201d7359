"""How each contestant (library) is started: torch as plain processes, those with MPI by the mpiexec beside this Python."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "MPIGRAD_BENCH_LIBRARY"
TENSORS_VARIABLE = "MPIGRAD_BENCH_TENSORS"
ROOT = Path(__file__).resolve().parent.parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Process:
    """One command to start, with its environment."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def free_port() -> int:
    """An unused TCP port, for torch's rendezvous."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def common_environment(library: str, threads: int) -> dict[str, str]:
    """The environment of all contestants: this repository is importable, and all have the same number of compute threads."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path), VARIABLE: library}
    environment.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    # Installed packages have compiled bytecode; modules of this repository get it here.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def plain_processes(program: str, ranks: int, library: str, threads: int) -> list[Process]:
    """The processes of a torch job: one per rank, which find each other by an address and a port."""
    shared = common_environment(library, threads)
    shared.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(ranks))
    command = (sys.executable, "-m", "benchmarks.rank", *program.split())
    return [Process(command, {**shared, "RANK": str(rank)}) for rank in range(ranks)]


def under_mpiexec(program: str, ranks: int, library: str, threads: int) -> list[Process]:
    """The launcher of an MPI job; it must also work as root and with more ranks than cores."""
    environment = common_environment(library, threads)
    for prefix in ("OMPI", "PRTE"):
        environment[f"{prefix}_ALLOW_RUN_AS_ROOT"] = environment[f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    environment["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    # Torch's processes may run on any core, so these may as well; MPICH binds only on request.
    environment["PRTE_MCA_hwloc_default_binding_policy"] = "none"
    mpiexec = str(Path(sys.executable).parent / "mpiexec")
    return [
        Process((mpiexec, "-n", str(ranks), sys.executable, "-m", "benchmarks.rank", *program.split()), environment)
    ]


def alone(program: str, library: str, threads: int) -> list[Process]:
    """One process without a launcher, for measures that need one rank only."""
    command = (sys.executable, "-m", "benchmarks.rank", *program.split())
    return [Process(command, common_environment(library, threads))]


def processes(contestant: str, program: str, ranks: int, threads: int, tensors: str = "") -> list[Process]:
    """The processes of a contestant's job; rank 0 (or the launcher that passes input to it) comes first. `tensors` names the
    library of the tensors.
    """
    started = _processes(contestant, program, ranks, threads)
    return [Process(each.command, {**each.environment, TENSORS_VARIABLE: tensors}) for each in started]


def _processes(contestant: str, program: str, ranks: int, threads: int) -> list[Process]:
    if ranks == 1:
        return alone(program, contestant, threads)
    if contestant == "torch":
        return plain_processes(program, ranks, "torch", threads)
    if contestant in ("mpigrad", "raw", "mpi4jax"):
        return under_mpiexec(program, ranks, "mpigrad", threads)
    raise ValueError(
        f"unknown contestant {contestant!r}: expected 'torch', 'mpigrad', 'raw', 'mpi4jax' or, on one rank, 'autograd'"
    )
