"""Receive buffers on the host for arrays whose GPU had no memory left.

The bytes must be received anyway, or MPI messages would stay unmatched; decoding then raises the error.
"""

from __future__ import annotations

import numpy as np


class FailedReceive(np.ndarray):
    """A host buffer that received an array whose GPU had no memory left. Decoding it raises `error`."""

    error: Exception


def failed_receive(array: np.ndarray, error: Exception) -> FailedReceive:
    """Return the host buffer `array` as a `FailedReceive` with this error."""
    made = array.view(FailedReceive)
    made.error = error
    return made
