"""Warns when two processes of a host use one GPU, without communication: each process holds a file lock per GPU.

The lock is held until the process ends, since it keeps GPU memory until then. The kernel releases it however the process ends.
"""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile

from mpigrad._array.device import device

from .binding import identity

logger = logging.getLogger(__name__)
_held: dict[int, int | None] = {}  # index of the GPU -> file descriptor that holds the lock


def claim(place: device) -> None:
    """Take the lock of a GPU for this process; logs a warning if another process has it. Later calls do nothing."""
    index = place.index or 0
    if index not in _held:
        try:
            _held[index] = _lock(index)
        except OSError as error:  # temporary files cannot be written
            logger.warning("cannot tell whether other processes on this host use the GPU of cuda:%d: %s", index, error)
            _held[index] = None


def _lock(index: int) -> int:
    name = f"mpigrad-gpu-{os.getuid()}-{identity(index).replace(':', '.')}"
    file = os.open(os.path.join(tempfile.gettempdir(), name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        logger.warning(
            "another process on this host uses the GPU of cuda:%d, too: they share its time and its memory. Give each rank a "
            "separate GPU with MPIGRAD_BIND_DEVICE=1, mpigrad.distributed.bind_device() or mpigrad.cuda.set_device()",
            index,
        )
    fcntl.flock(file, fcntl.LOCK_SH)  # shared: a later process finds it taken, but does not wait
    return file

