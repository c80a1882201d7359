"""Transfers of GPU arrays, as the table at the end of a frame describes them.

A transfer is one large array, or a pack of small arrays between the same two devices.
"""

from __future__ import annotations

from mpigrad._array.device import CPU, device
from mpigrad.distributed._gpu.transfers import PIECE_BITS

ALIGNMENT = 256  # of arrays in a pack; the alignment of CUDA allocations

_SIZE_BITS = 46
_SIZE_MASK = (1 << _SIZE_BITS) - 1


def entry(size: int, target: device, bits: int = PIECE_BITS) -> int:
    """Encode a device transfer as a number: 46 bits of size in bytes, 10 bits of target device, 8 bits of piece size (log2).

    The code of the target is 1 for the host, 2 for cuda:0, 3 for cuda:1 ... It is never 0, so that the number has more
    than 46 bits; entries of host transfers are plain sizes, and have fewer.
    """
    code = 1 if target is CPU else 2 + (target.index or 0)
    return bits << 56 | code << _SIZE_BITS | size


def read_entry(number: int) -> tuple[int, device, int]:
    """Decode a number of `entry`: size, target device and size of the pieces in bytes. ValueError if it is malformed."""
    code = number >> _SIZE_BITS & 0x3FF
    bits = number >> 56
    if not code or not 10 <= bits <= 40:
        raise ValueError(f"malformed message: {number:#x} is not a device transfer")
    return number & _SIZE_MASK, CPU if code == 1 else device("cuda", code - 2), 1 << bits


def aligned(size: int) -> int:
    """Return the offset of the next array in a pack that has `size` bytes so far."""
    return -(-size // ALIGNMENT) * ALIGNMENT
