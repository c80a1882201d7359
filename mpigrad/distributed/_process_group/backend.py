"""Names of backends. MPI is the only one; programs for PyTorch that name another one (gloo, nccl) get MPI."""

from __future__ import annotations

import os
from typing import Any

from mpigrad._array.device import device as Device

from .. import _mpi


class Backend(str):
    """The name of a backend as PyTorch spells it: `Backend(name)` returns `name` in lower case, a plain str.

    Attributes are names, such as `Backend.MPI`. ValueError if `name` is not a string.

    >>> import mpigrad.distributed as dist
    >>> dist.Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, MPI]
    default_device_backend_map = {"cpu": MPI, "cuda": MPI}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return name.lower()  # a plain string, as in PyTorch


def is_backend_available(backend: str) -> bool:
    """Return whether a backend can be used: True only for "mpi", if mpi4py is installed.

    >>> is_backend_available("mpi"), is_backend_available("nccl")
    (True, False)
    """
    return backend.lower() == Backend.MPI and _mpi.available()


def is_gloo_available() -> bool:
    """Return False: mpigrad has no Gloo backend. A program that names it gets MPI.

    >>> is_gloo_available()
    False
    """
    return False


def is_nccl_available() -> bool:
    """Return False: mpigrad has no NCCL backend. A program that names it gets MPI.

    >>> is_nccl_available()
    False
    """
    return False


def is_ucc_available() -> bool:
    """Return False: mpigrad has no UCC backend. A program that names it gets MPI.

    >>> is_ucc_available()
    False
    """
    return False


def is_xccl_available() -> bool:
    """Return False: mpigrad has no XCCL backend. A program that names it gets MPI.

    >>> is_xccl_available()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """Return whether torchelastic (`torchrun`) has started this process: it sets TORCHELASTIC_RUN_ID.

    >>> is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


def get_default_backend_for_device(device: Any) -> str:
    """Return the name of the backend for tensors of a device: "mpi" for CPUs and GPUs, a ValueError for others.

    >>> get_default_backend_for_device("cuda:0")
    'mpi'
    """
    kind = device.type if isinstance(device, Device) else Device(device).type
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found
