"""How arrays on GPUs travel: the choice between staging and CUDA-aware MPI, and the pieces in which both move them.

Both ways cut an array into the same pieces, so that a rank that stages and one whose MPI reads device memory understand
each other. A transfer is one *large* array, or a *pack* of small ones for one device. Its pieces are MPI messages of at
most `PIECE` bytes with one tag, which MPI keeps in order.
"""

from __future__ import annotations

import os

from mpigrad._array.device import CPU, device

WAYS = ("staged", "cuda_aware", "detect")
VARIABLE = "MPIGRAD_DEVICE_TRANSFERS"
PIECE_BITS = 22  # 4 MiB: long enough for full bandwidth, short enough to overlap
PACKED_MAX = 64 * 1024  # arrays up to this size are packed together
ALIGNMENT = 256  # of arrays in a pack, as CUDA aligns

_SIZE_BITS = 46
_SIZE_MASK = (1 << _SIZE_BITS) - 1


def checked_way(given: str | None) -> str:
    """The way asked for: an argument, the environment variable, or staging."""
    way = given if given is not None else os.environ.get(VARIABLE) or WAYS[0]
    if way not in WAYS:
        origin = "device_transfers" if given is not None else f"the environment variable {VARIABLE}"
        raise ValueError(f"{origin} must be one of {', '.join(map(repr, WAYS))}, got {way!r}")
    return way


def entry(size: int, target: device, bits: int = PIECE_BITS) -> int:
    """A device transfer in the table of a frame: 46 bits of size, the target (1: host, 2: cuda:0 ...), the pieces' size.

    Transfers into plain host memory have nothing above the size: an entry of more than 46 bits is a device transfer.
    """
    code = 1 if target is CPU else 2 + (target.index or 0)
    return bits << 56 | code << _SIZE_BITS | size


def read_entry(number: int) -> tuple[int, device, int]:
    """Size, target and length of the pieces of an entry."""
    code = number >> _SIZE_BITS & 0x3FF
    bits = number >> 56
    if not code or not 10 <= bits <= 40:
        raise ValueError(f"malformed message: {number:#x} is no device transfer")
    return number & _SIZE_MASK, CPU if code == 1 else device("cuda", code - 2), 1 << bits


def pieces(size: int, length: int) -> list[tuple[int, int]]:
    """Start and end of the pieces of a transfer."""
    return [(start, min(start + length, size)) for start in range(0, size, length)]


def aligned(size: int) -> int:
    """Where the next array of a pack begins."""
    return -(-size // ALIGNMENT) * ALIGNMENT
