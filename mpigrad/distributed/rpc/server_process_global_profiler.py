"""A profiler of what a worker does for other workers, on all threads that serve calls; programs use it as
`rpc._server_process_global_profile`.
"""

from __future__ import annotations

import threading
from itertools import groupby
from typing import Any

from mpigrad._core.rpc.calls import INSTRUMENTS, Instrument
from mpigrad.autograd.profiler import profile


class _Serving(Instrument, threading.local):
    """Counts, for each thread, the nested requests that it is serving; 0 means that it works for this worker itself."""

    depth = 0

    def before_serve(self, agent: Any, src: int, kind: int, call_id: int, extra: int) -> None:
        """Count a request that is about to be served."""
        self.depth += 1

    def after_serve(self, agent: Any) -> None:
        """Count a request that is done; not below 0, because the request that started the profiler was not counted."""
        self.depth = max(0, self.depth - 1)


class _server_process_global_profile(profile):
    """Record the operators that run for other workers inside the block, on all threads of this worker.

    After the block, `process_global_function_events` is a list with one list of events for each thread. Usually another
    worker creates the profiler with `rpc.remote(to, rpc._server_process_global_profile)` and enters it through the RRef.
    The arguments are those of `mpigrad.autograd.profiler.profile`.
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
        """The state for pickling: the events of this worker, without the profiler itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_serving"}

    def operator(self, name: str, inputs: Any) -> Any:
        """Record an operator if this thread works for another worker; returns a context manager around it."""
        return super().operator(name, inputs) if self._serving.depth else _NOTHING

    def node(self, node: Any) -> Any:
        """Record a node of a backward pass if this thread works for another worker; returns a context manager."""
        return super().node(node) if self._serving.depth else _NOTHING


class _Nothing:
    """A context manager that records nothing."""

    def __enter__(self) -> None:
        """Record nothing."""

    def __exit__(self, *error: object) -> None:
        """Record nothing."""


_NOTHING = _Nothing()
