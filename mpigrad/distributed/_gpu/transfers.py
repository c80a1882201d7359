"""Ways of sending GPU arrays to another rank: staged through pinned memory, or by a CUDA-aware MPI.

Both ways send the same pieces: MPI messages of at most `1 << PIECE_BITS` bytes with the same tag, which MPI keeps in order. So
a rank that stages can exchange arrays with a rank whose MPI is CUDA-aware.
"""

from __future__ import annotations

import os

WAYS = ("staged", "cuda_aware", "detect")
VARIABLE = "MPIGRAD_DEVICE_TRANSFERS"
PACKED_MAX = 64 * 1024  # arrays up to this size are packed together
PIECE_BITS = 22  # 4 MiB: long enough for full bandwidth, short enough to overlap


def checked_way(given: str | None) -> str:
    """Return how GPU arrays are sent, "staged", "cuda_aware" or "detect"; ValueError for another value.

    `given` if it is not None, otherwise the environment variable MPIGRAD_DEVICE_TRANSFERS, otherwise "staged".
    """
    way = given if given is not None else os.environ.get(VARIABLE) or WAYS[0]
    if way not in WAYS:
        origin = "device_transfers" if given is not None else f"the environment variable {VARIABLE}"
        raise ValueError(f"{origin} must be one of {', '.join(map(repr, WAYS))}, got {way!r}")
    return way


def pieces(size: int, length: int) -> list[tuple[int, int]]:
    """Return the start and the end of each piece of a transfer of `size` bytes, in pieces of `length` bytes."""
    return [(start, min(start + length, size)) for start in range(0, size, length)]
