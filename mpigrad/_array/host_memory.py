"""Makes glibc keep freed blocks of some MiB for reuse, instead of returning them to the system and faulting them in again.

By default glibc returns a freed block of more than 128 KiB to the system at once. Its pages must then be cleared and mapped
again for the next array: 250 page faults per MiB, which takes several times as long as adding two arrays. glibc adapts its
threshold: after a block of up to 32 MiB has been freed, it keeps blocks of that size, and up to twice as much free memory in
total. So we allocate and free one block of nearly 32 MiB at import, without touching it. If the environment variables
MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_ are set, glibc does not adapt, and their values hold.
"""

from __future__ import annotations

import numpy as np

LARGEST = (32 << 20) - (64 << 10)  # glibc does not adapt to larger blocks


def keep_freed_memory() -> None:
    """Raise glibc's threshold by freeing a large block. No effect with other C libraries."""
    np.empty(LARGEST, np.uint8)


keep_freed_memory()
