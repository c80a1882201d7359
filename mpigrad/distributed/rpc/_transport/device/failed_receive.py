"""Receive buffers on the host for arrays whose GPU had no memory left.

The bytes must be received anyway, or MPI messages would stay unmatched; decoding then raises the error.
"""

from __future__ import annotations

import numpy as np


class FailedReceive(np.ndarray):
    """A host buffer that carries the error of a failed device allocation. Decoding raises that error."""

    error: Exception


def failed_receive(array: np.ndarray, error: Exception) -> FailedReceive:
    """Mark a host buffer that replaces device memory, with the reason."""
    made = array.view(FailedReceive)
    made.error = error
    return made
