"""Binding: on request, each rank uses the GPU with its local rank; a warning if ranks share a GPU.

    MPIGRAD_BIND_DEVICE=1 mpiexec -n 4 python train.py       # "cuda" is cuda:0 on the first rank of each host, cuda:1 ...

As in PyTorch, "cuda" is cuda:0 in every process unless the program (or this) chooses another.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from mpigrad._array.device import cupy, device, device_count
from mpigrad._process.rank import local_rank, local_size

logger = logging.getLogger(__name__)
VARIABLE = "MPIGRAD_BIND_DEVICE"


class Bound:
    """The GPU that this process is bound to, or None."""

    place: device | None = None


def asked_for() -> bool:
    """Return whether the environment variable MPIGRAD_BIND_DEVICE requests binding; ValueError if it is neither 0 nor 1."""
    given = os.environ.get(VARIABLE, "0").lower()
    if given not in ("0", "1", "", "off", "on", "false", "true"):
        raise ValueError(f"the environment variable {VARIABLE} must be 0 or 1, got {given!r}")
    return given in ("1", "on", "true")


def bind_device(number: int | None = None) -> device | None:
    """Make a GPU of this host the current one for this process, and return it as a device; None on a host without GPUs.

    `number` is the index of the GPU, by default the local rank: the number of this process among those of its host, which
    the launcher sets (OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, SLURM_LOCALID, ...; RuntimeError if it does not). If
    there are more ranks than GPUs, they share GPUs in turn, with a warning. Threads that RPC starts later use the same GPU.

    >>> import mpigrad
    >>> place = bind_device(0)
    >>> place is None or place == mpigrad.device("cuda:0")
    True
    """
    count = device_count()
    if not count:
        return None
    number = local_rank() if number is None else number
    if number is None:
        raise RuntimeError(
            "bind_device: the local rank of this process is unknown (OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID and "
            "SLURM_LOCALID are not set); start with mpiexec or srun, or pass the number"
        )
    ranks = local_size()
    if (ranks is not None and ranks > count) or number >= count:
        logger.warning(
            "%s processes share %d GPU(s) on this host: process %d uses cuda:%d with others. Start at most %d per host, or "
            "expect them to share its time and memory",
            ranks if ranks is not None else f"at least {number + 1}", count, number, number % count, count,
        )  # fmt: skip
    Bound.place = device("cuda", number % count)
    use_bound()
    return Bound.place


def use_bound() -> None:
    """Make the GPU to which this process is bound current in this thread: CUDA's current device is thread-local."""
    if Bound.place is not None:
        cupy().cuda.runtime.setDevice(Bound.place.index)


def bind_if_asked() -> None:
    """Bind this process to a GPU, once, if MPIGRAD_BIND_DEVICE requests it."""
    if Bound.place is None and asked_for():
        bind_device()


def identity(index: int) -> str:
    """Return the PCI bus id of a GPU, given by its index.

    It is the same in all processes of the host; indices are not, as CUDA_VISIBLE_DEVICES changes them.
    """
    return str(cupy().cuda.runtime.deviceGetPCIBusId(index))


def warn_of_sharing(users: Iterable[tuple[str, str]]) -> list[str]:
    """Log a warning for each GPU that several workers use; returns the texts.

    `users` are pairs of worker and GPU; the name of a GPU includes its host.
    """
    by_gpu: dict[str, list[str]] = {}
    for worker, gpu in users:
        by_gpu.setdefault(gpu, []).append(worker)
    shared = [f"GPU {gpu} is used by {', '.join(names)}" for gpu, names in by_gpu.items() if len(names) > 1]
    if shared:
        logger.warning("several workers share a GPU, its time and its memory: %s", "; ".join(shared))
    return shared
