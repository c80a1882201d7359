"""`trace_workers`: one worker starts and stops the trace on all others and collects their events."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any

import mpigrad.distributed.rpc as rpc
from mpigrad._core.rpc.calls import INSTRUMENTS
from mpigrad.distributed.optim.optimizer import gather_errors
from mpigrad.distributed.rpc._agent.current import get_agent

from . import chrome
from .clocks import SAME, Clock, Reading, read
from .instrument import TraceInstrument
from .recorder import Notes, Recorder

_numbers = itertools.count()


class _Session:
    """The active trace of this process, if any."""

    by = ""  # the worker that has started it
    number = ""  # distinguishes traces of one worker
    recorder: Recorder | None = None
    instrument: TraceInstrument | None = None


def _trace_begin(by: str, number: str) -> None:
    """Start recording on this worker; called by RPC."""
    agent = get_agent()
    if _Session.by:
        raise RuntimeError(f"{agent.info.name} is being traced for {_Session.by} already; end that trace before another")
    _Session.by, _Session.number, _Session.recorder = by, number, Recorder()
    _Session.instrument = TraceInstrument(agent, _Session.recorder)
    _Session.recorder.__enter__()
    INSTRUMENTS.add(_Session.instrument)


def _trace_end(number: str) -> Notes | None:
    """Stop recording and return the events; None if the active trace is another one. Called by RPC."""
    if _Session.number != number or _Session.recorder is None or _Session.instrument is None:
        return None
    INSTRUMENTS.remove(_Session.instrument)
    recorder, _Session.recorder, _Session.instrument = _Session.recorder, None, None
    _Session.by = _Session.number = ""
    recorder.__exit__()
    info = get_agent().info
    return recorder.notes(info.id, info.name)


class Trace:
    """The result of `trace_workers`; filled at the end of the block."""

    def __init__(self) -> None:
        self.chrome: dict[str, Any] = {}
        self.clock_errors_us: dict[str, float] = {}

    def export_chrome_trace(self, path: str) -> None:
        """Write the trace to the file `path` for Perfetto or chrome://tracing, compressed if its name ends with .gz."""
        if not self.chrome:
            raise RuntimeError("the trace is not finished: write it after the `with` block")
        chrome.write(path, self.chrome)


def _ask_all(workers: list[str], function: Any, *args: Any) -> list[Any]:
    # Waits for all answers, even if one is an error: a trace must not begin on a worker after `_stop` has ended it there.
    return gather_errors([rpc.rpc_async(worker, function, args=args) for worker in workers])


def _stop(workers: list[str], number: str) -> list[Notes]:
    return [notes for notes in _ask_all(workers, _trace_end, number) if notes is not None]


@contextmanager
def trace_workers(path: str | None = None) -> Iterator[Trace]:
    """A context manager: record a trace of all workers inside the block. One worker calls it, after `init_rpc`.

    `path`: the file to write at the end, for the web page https://ui.perfetto.dev or chrome://tracing; without it, call
    `export_chrome_trace(path)` of the object that `with` gives.

    The file has a process for each rank with its threads: calls and the functions that they ran, operators, nodes of
    backward passes, `record_function` blocks, the phases of each distributed backward pass (reach, propagate, and
    parts that are held; see docs/glossary.md), and an arrow for every message and its answer. Clock offsets are
    measured before and after the block; the file contains their uncertainty (`otherData`). There is no cost while no
    trace is active.

    >>> import mpigrad, mpigrad.distributed.rpc as rpc, mpigrad.profiler
    >>> rpc.init_rpc("solo", rank=0, world_size=1)
    >>> with mpigrad.profiler.trace_workers() as trace:    # or trace_workers("trace.json")
    ...     y = rpc.rpc_sync("solo", mpigrad.add, args=(mpigrad.ones(2), 1))
    >>> rpc.shutdown()
    >>> names = [event["name"] for event in trace.chrome["traceEvents"]]
    >>> "rpc_sync#aten::add(solo -> solo)" in names, "aten::add" in names
    (True, True)
    """
    agent = get_agent()
    infos = agent.get_worker_infos()
    names, others = [info.name for info in infos], [info for info in infos if info.id != agent.rank]
    first = {info.id: read(info.name) for info in others}
    made, number = Trace(), f"{agent.info.name} {next(_numbers)}"
    try:
        _ask_all(names, _trace_begin, agent.info.name, number)
        zero = perf_counter_ns()
        yield made
    finally:
        found = _stop(names, number)
    clocks = _clocks(agent.rank, first, {info.id: read(info.name) for info in others})
    made.chrome = chrome.render(found, clocks, zero)
    made.clock_errors_us = {info.name: clocks[info.id].error / 1e3 for info in infos}
    if path is not None:
        made.export_chrome_trace(path)


def _clocks(rank: int, first: dict[int, Reading], last: dict[int, Reading]) -> dict[int, Clock]:
    return {rank: SAME, **{other: Clock(first[other], last[other]) for other in first}}
