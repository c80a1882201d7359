"""How each contestant (library) is started: torch as plain processes, those with MPI by the mpiexec beside this Python."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bars import OURS

VARIABLE = "MPIGRAD_BENCH_LIBRARY"
TENSORS_VARIABLE = "MPIGRAD_BENCH_TENSORS"
BEFORE = "before"  # the contestant that is an earlier state of mpigrad: `python -m benchmarks.run --before DIRECTORY`
ROOT = Path(__file__).resolve().parent.parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Process:
    """One command to start, with its environment and its working directory (by default that of the runner)."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: str | None = None


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


@contextmanager
def package_of(checkout: Path | None) -> Iterator[str | None]:
    """A temporary directory in which Python finds the package `mpigrad` of another checkout, but not its benchmarks."""
    if checkout is None:
        yield None
        return
    package = checkout.resolve() / "mpigrad"
    if not (package / "__init__.py").exists():
        raise ValueError(f"--before {checkout}: there is no mpigrad in this directory; name a checkout with compiled modules")
    with tempfile.TemporaryDirectory(prefix="mpigrad-before-") as directory:
        (Path(directory) / "mpigrad").symlink_to(package)
        yield directory


def alone(program: str, library: str, threads: int) -> list[Process]:
    """One process without a launcher, for measures that need one rank only."""
    command = (sys.executable, "-m", "benchmarks.rank", *program.split())
    return [Process(command, common_environment(library, threads))]


def processes(
    contestant: str, program: str, ranks: int, threads: int, tensors: str = "", before: str | None = None
) -> list[Process]:
    """The processes of a contestant's job; rank 0 (or the launcher that passes input to it) comes first. `tensors` names the
    library of the tensors, `before` the directory with the package of the contestant of this name.
    """
    environment = {TENSORS_VARIABLE: tensors}
    directory = None
    if contestant == BEFORE:
        contestant, directory = OURS, before
        environment["PYTHONPATH"] = f"{before}{os.pathsep}{ROOT}"
    started = _processes(contestant, program, ranks, threads)
    # the package is searched in the working directory first
    return [Process(each.command, {**each.environment, **environment}, directory) for each in started]


def _processes(contestant: str, program: str, ranks: int, threads: int) -> list[Process]:
    if ranks == 1:
        return alone(program, contestant, threads)
    if contestant == "torch":
        return plain_processes(program, ranks, "torch", threads)
    if contestant in (OURS, "raw", "mpi4jax"):
        return under_mpiexec(program, ranks, OURS, threads)
    raise ValueError(
        f"unknown contestant {contestant!r}: expected 'torch', 'mpigrad', 'raw', 'mpi4jax' or, on one rank, 'autograd'"
    )
