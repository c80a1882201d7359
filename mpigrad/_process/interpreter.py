"""Checks of the Python interpreter at import."""

from __future__ import annotations

import sys


def refuse_free_threading() -> None:
    """Raise an ImportError if Python runs without the GIL: RPC's queues, counters and tables rely on it and would
    lose messages.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ImportError(
            "mpigrad needs Python's global interpreter lock, which this free-threaded Python runs without: use the regular "
            "build, or start it with PYTHON_GIL=1 (or -X gil=1)"
        )
