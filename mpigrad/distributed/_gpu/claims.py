"""A word when two processes of a host use one GPU, without asking the other ranks: each holds a lock with the GPU's name.

A process that has used a GPU has a part of its memory until it ends; then, however that happens, the system lets go of the lock.
"""

from __future__ import annotations

import fcntl
import logging
import os
import tempfile

from mpigrad._array.device import device

from .binding import identity

logger = logging.getLogger(__name__)
_held: dict[int, int | None] = {}  # the GPU's index: the open file that holds the lock


def claim(place: device) -> None:
    """Note that this process uses a GPU, once; a warning if another one does."""
    index = place.index or 0
    if index not in _held:
        try:
            _held[index] = _lock(index)
        except OSError as error:  # no place for temporary files
            logger.warning("cannot tell whether other processes on this host use the GPU of cuda:%d: %s", index, error)
            _held[index] = None


def _lock(index: int) -> int:
    name = f"mpigrad-gpu-{os.getuid()}-{identity(index).replace(':', '.')}"
    file = os.open(os.path.join(tempfile.gettempdir(), name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        logger.warning(
            "another process on this host uses the GPU of cuda:%d, too: they share its time and its memory. Give each rank one "
            "of its own with MPIGRAD_BIND_DEVICE=1, mpigrad.distributed.bind_device() or mpigrad.cuda.set_device()",
            index,
        )
    fcntl.flock(file, fcntl.LOCK_SH)
    return file

