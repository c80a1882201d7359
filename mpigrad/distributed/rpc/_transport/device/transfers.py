"""Transfers of GPU arrays behind a frame: a transfer is one *large* array, or a *pack* of small ones for one device."""

from __future__ import annotations

from mpigrad._array.device import CPU, device
from mpigrad.distributed._gpu.transfers import PIECE_BITS

ALIGNMENT = 256  # of arrays in a pack, as CUDA aligns

_SIZE_BITS = 46
_SIZE_MASK = (1 << _SIZE_BITS) - 1


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


def aligned(size: int) -> int:
    """Where the next array of a pack begins."""
    return -(-size // ALIGNMENT) * ALIGNMENT
