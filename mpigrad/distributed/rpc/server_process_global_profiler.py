"""A profiler of what a worker does for others, on whatever threads it serves them."""

from __future__ import annotations

import threading
from itertools import groupby
from typing import Any

from mpigrad._core.rpc.instruments import INSTRUMENTS, Instrument
from mpigrad.autograd.profiler import profile


class _Serving(Instrument, threading.local):
    """How many requests this thread is serving, one inside the other."""

    depth = 0

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        """Count a request."""
        self.depth += 1

    def after_serve(self, agent: Any) -> None:
        """It is done; the one that began the profile was not counted."""
        self.depth = max(0, self.depth - 1)


class _server_process_global_profile(profile):
    """Note what runs while this worker serves requests. `process_global_function_events` has a list for each thread then.

    Mostly made by another worker, `rpc.remote(to, rpc._server_process_global_profile)`, and entered and left through the RRef.
    """

    follows_calls = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.process_global_function_events: list[list[Any]] = []
        self._serving = _Serving()

    def __enter__(self) -> _server_process_global_profile:
        if self.enabled and self.entered:
            raise RuntimeError("autograd profiler traces are not reentrant")
        if self.enabled:
            INSTRUMENTS.add(self._serving)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        INSTRUMENTS.remove(self._serving)
        super().__exit__(*error)
        found = sorted(self.function_events or (), key=lambda event: (event.thread, event.time_range.start))
        self.process_global_function_events = [list(each) for _, each in groupby(found, key=lambda event: event.thread)]

    def __getstate__(self) -> dict[str, Any]:
        """What travels to whoever asked for the events."""
        return {name: value for name, value in self.__dict__.items() if name != "_serving"}

    def operator(self, name: str, inputs: Any) -> Any:
        """One operator, if it runs for another worker."""
        return super().operator(name, inputs) if self._serving.depth else _NOTHING

    def node(self, node: Any) -> Any:
        """One node of a backward pass, if it runs for another worker."""
        return super().node(node) if self._serving.depth else _NOTHING


class _Nothing:
    """Surrounds what is not noted."""

    def __enter__(self) -> None:
        """Note nothing."""

    def __exit__(self, *error: object) -> None:
        """Note nothing."""


_NOTHING = _Nothing()
