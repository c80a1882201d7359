"""The table entries of GPU transfers that follow a frame. A transfer is one *large* array or a *pack* of small ones."""

from __future__ import annotations

from mpigrad._array.device import CPU, device
from mpigrad.distributed._gpu.transfers import PIECE_BITS

ALIGNMENT = 256  # of arrays in a pack; the alignment of CUDA allocations

_SIZE_BITS = 46
_SIZE_MASK = (1 << _SIZE_BITS) - 1


def entry(size: int, target: device, bits: int = PIECE_BITS) -> int:
    """Encode a device transfer: 46 bits of size, 10 bits of target (1: host, 2: cuda:0 ...), 8 bits of piece size (log2).

    Entries of plain host transfers are sizes, so an entry of more than 46 bits is a device transfer.
    """
    code = 1 if target is CPU else 2 + (target.index or 0)
    return bits << 56 | code << _SIZE_BITS | size


def read_entry(number: int) -> tuple[int, device, int]:
    """Decode an entry: size, target and size of the pieces."""
    code = number >> _SIZE_BITS & 0x3FF
    bits = number >> 56
    if not code or not 10 <= bits <= 40:
        raise ValueError(f"malformed message: {number:#x} is not a device transfer")
    return number & _SIZE_MASK, CPU if code == 1 else device("cuda", code - 2), 1 << bits


def aligned(size: int) -> int:
    """The offset of the next array in a pack of this size."""
    return -(-size // ALIGNMENT) * ALIGNMENT
