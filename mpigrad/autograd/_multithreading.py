"""A switch of PyTorch's engine, accepted for ported programs: here a pass always runs in the calling thread."""

from __future__ import annotations

from typing import Any


class set_multithreading_enabled:
    """Accepted for PyTorch's programs, as a function and as a context manager, without effect: a pass runs in the
    calling thread.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: Any) -> None:
        return None
