"""Freed memory stays with the process: blocks of some MiB are used again instead of being faulted in anew each time.

The C library of Linux (glibc) gives a freed block of more than 128 KiB back to the system at once, and with it every page,
which has to be cleared and mapped again for the next array: 250 page faults for each MiB, several times what adding two
arrays takes. It learns from the first block of up to 32 MiB that is freed to keep blocks of that size, and up to
twice as much free memory in all. So we free one of 32 MiB, which was never touched, in the beginning. The variables
MALLOC_MMAP_THRESHOLD_ and MALLOC_TRIM_THRESHOLD_ turn this learning off, and what they say holds.
"""

from __future__ import annotations

import numpy as np

LARGEST = (32 << 20) - (64 << 10)  # glibc does not learn from larger ones


def keep_freed_memory() -> None:
    """Let the C library see how large our blocks may become. Nothing happens with other C libraries."""
    np.empty(LARGEST, np.uint8)


keep_freed_memory()
