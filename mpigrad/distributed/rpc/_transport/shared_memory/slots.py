"""The slots of this process, in memory that other processes of the host can map, and those of others.

The memory is a file without a name. Whoever may copy from a process may open its files, too, by the system's list of them
(`/proc/PID/fd`). Everything that could be someone else's is looked at first: the host by the id of its last start, the file by
its seals and its length, the process by a token of random bytes, which is in the file and at its address in the process.
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

WAYS = ("auto", "both_ends", "mpi")
VARIABLE = "MPIGRAD_HOST_TRANSFERS"
_IDENTITY = struct.Struct("<4s36s16sIIQ")
_MAGIC = b"mpg1"
IDENTITY_SIZE = _IDENTITY.size


def checked_way() -> str:
    """How large arrays travel between ranks of one host, as the environment variable says: copied by both ends, by MPI, or
    ("auto", and without it) by both ends where each rank has a core: where ranks wait for cores, nobody is idle who could help.
    """
    way = os.environ.get(VARIABLE) or WAYS[0]
    if way not in WAYS:
        raise ValueError(f"the environment variable {VARIABLE} must be one of {', '.join(map(repr, WAYS))}, got {way!r}")
    return way


class Identity(NamedTuple):
    """What a process says of itself: where its slots are, and how to know it."""

    magic: bytes
    host: bytes
    token: bytes
    pid: int
    file: int
    address: int


class OwnSlots:
    """The slots of this process. They stay for its life: others may look at them at any time."""

    def __init__(self) -> None:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            host = file.read().strip()
        handle = os.memfd_create("mpigrad", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(handle, BYTES)
        self._memory = mmap.mmap(handle, BYTES)
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._memory[:TOKEN] = token = os.urandom(TOKEN)
        self.slots = Slots(self._memory)
        self.identity = Identity(_MAGIC, host, token, os.getpid(), handle, self.slots.address)
        self.packed = _IDENTITY.pack(*self.identity)
        self.free = deque(range(1, COUNT))  # places that no transfer has
        self._numbers = itertools.count(int.from_bytes(os.urandom(4), "little"))

    def new_number(self) -> int:
        """A number for a transfer: 32 bits, and no two within their time are alike."""
        return next(self._numbers) & 0xFFFFFFFF or 1


_own: list[OwnSlots | None] = []


def own_slots() -> OwnSlots | None:
    """Those of this process; None where the system or plain Python cannot."""
    if not _own:
        try:
            _own.append(OwnSlots() if cross_memory.CAN else None)
        except (OSError, AttributeError):
            _own.append(None)
    return _own[0]


def read_identity(data: bytes) -> Identity:
    """An identity as it came; ValueError if it cannot be one."""
    identity = Identity(*_IDENTITY.unpack(data))
    if identity.magic != _MAGIC or not 0 < identity.pid < 1 << 31 or identity.file >= 1 << 31:
        raise ValueError(f"malformed message: {data[:8].hex()}... offers nothing that could be looked at")
    return identity


def map_slots(them: Identity) -> Slots:
    """The slots of another process of this host; OSError if they are out of reach."""
    own = own_slots()
    if own is None or own.identity.host != them.host:
        raise OSError(errno.EXDEV, "another host")
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
    """Why this process cannot copy from one that says this of itself; None if it can."""
    if checked_way() == "mpi":
        return f"{VARIABLE}=mpi"
    if not cross_memory.CAN:
        return "plain Python"
    try:
        map_slots(read_identity(packed))
    except (OSError, ValueError, struct.error) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
