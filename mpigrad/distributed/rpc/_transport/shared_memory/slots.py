"""Slots: shared memory in which the sender and the receiver of an offered array, on one host, agree who copies which part.

The slots of a process are in a memfd, a file without a name. A process that may use cross-memory attach on another may
also open its files, through `/proc/PID/fd`. Since process ids are reused and differ between containers, everything is
verified before it is used: the host by its boot id, the file by its seals and length, the process by a random token that
is both in the file and at a known address of the process.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import mmap
import os
import struct
from collections import deque
from typing import NamedTuple

from mpigrad._core.rpc import cross_memory
from mpigrad._core.rpc.cross_memory import BYTES, COUNT, TOKEN, Slots

WAYS = ("auto", "both_ends", "lend", "mpi")
VARIABLE = "MPIGRAD_HOST_TRANSFERS"
_IDENTITY = struct.Struct("<4s36s16sIIQ")
_MAGIC = b"mpg1"
IDENTITY_SIZE = _IDENTITY.size


def checked_way() -> str:
    """Return how large arrays travel between ranks of one host, from MPIGRAD_HOST_TRANSFERS; ValueError if that is invalid.

    "both_ends": sender and receiver copy together. "lend": the sender copies them into shared memory. "mpi": MPI copies.
    "auto" (the default): both ends, if each rank has a core; on oversubscribed hosts, where none is idle to help, they are lent.
    """
    way = os.environ.get(VARIABLE) or WAYS[0]
    if way not in WAYS:
        raise ValueError(f"the environment variable {VARIABLE} must be one of {', '.join(map(repr, WAYS))}, got {way!r}")
    return way


class Identity(NamedTuple):
    """What another process needs to find the slots of this one, and to verify that they belong to it."""

    magic: bytes
    host: bytes  # boot id of the host
    token: bytes
    pid: int
    file: int  # descriptor of the memfd
    address: int  # of the token in the memory of the process


class OwnSlots:
    """The slots of this process. Never freed: other processes may map them at any time."""

    def __init__(self) -> None:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            host = file.read().strip()
        handle = os.memfd_create("mpigrad", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(handle, BYTES)
        self._memory = mmap.mmap(handle, BYTES)
        # sealed: if the file shrank, a process that has mapped it would be killed (SIGBUS)
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._memory[:TOKEN] = token = os.urandom(TOKEN)
        self.slots = Slots(self._memory)
        self.identity = Identity(_MAGIC, host, token, os.getpid(), handle, self.slots.address)
        self.packed = _IDENTITY.pack(*self.identity)
        self.free = deque(range(1, COUNT))  # slots without a transfer; slot 0 holds the token
        self._numbers = itertools.count(int.from_bytes(os.urandom(4), "little"))

    def publish(self, handle: int) -> None:
        """Tell the processes that map the slots the descriptor of the file with the memory that this process lends."""
        self._memory[TOKEN : TOKEN + 4] = handle.to_bytes(4, "little")

    def new_number(self) -> int:
        """Return a number for a transfer: 32 bits, never 0, not repeated while another transfer is in flight."""
        return next(self._numbers) & 0xFFFFFFFF or 1


_own: list[OwnSlots | None] = []


def own_slots() -> OwnSlots | None:
    """Return the slots of this process; None if the system does not support them or the compiled module is missing."""
    if not _own:
        try:
            _own.append(OwnSlots() if cross_memory.CAN else None)
        except (OSError, AttributeError):
            _own.append(None)
    return _own[0]


def read_identity(data: bytes) -> Identity:
    """Decode the identity of a process (`OwnSlots.packed`); ValueError if it is malformed."""
    identity = Identity(*_IDENTITY.unpack(data))
    if identity.magic != _MAGIC or not 0 < identity.pid < 1 << 31 or identity.file >= 1 << 31:
        raise ValueError(f"malformed message: {data[:8].hex()}... is not the identity of a process")
    return identity


def map_slots(them: Identity) -> Slots:
    """Map the slots of another process of this host; OSError if that is impossible or it is another process."""
    own = own_slots()
    if own is None or own.identity.host != them.host:
        raise OSError(errno.EXDEV, "another host")
    # if the pid was reused, the file may be anything: opening it must not block, nor make it the controlling terminal
    handle = os.open(f"/proc/{them.pid}/fd/{them.file}", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        if not fcntl.fcntl(handle, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK or os.fstat(handle).st_size != BYTES:
            raise OSError(errno.EBADF, "another file")
        slots = Slots(mmap.mmap(handle, BYTES))
    finally:
        os.close(handle)
    error = cross_memory.recognise(them.pid, them.address, them.token)
    if error or slots.token != them.token:
        raise OSError(error if error > 0 else errno.ESRCH, os.strerror(error) if error > 0 else "another process")
    return slots


def out_of_reach(packed: bytes) -> str | None:
    """Return why this process cannot copy from the one with this packed identity; None if it can. For `mpigrad doctor`."""
    if checked_way() == "mpi":
        return f"{VARIABLE}=mpi"
    if not cross_memory.CAN:
        return "plain Python"
    try:
        map_slots(read_identity(packed))
    except (OSError, ValueError, struct.error) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
