"""Bytes that could not arrive on their GPU."""

from __future__ import annotations

import numpy as np


class FailedReceive(np.ndarray):
    """Host memory for bytes whose GPU had no memory left. Decoding raises the error."""

    error: Exception


def failed_receive(array: np.ndarray, error: Exception) -> FailedReceive:
    """Mark host memory that stands in for memory of a GPU, with the reason."""
    made = array.view(FailedReceive)
    made.error = error
    return made
