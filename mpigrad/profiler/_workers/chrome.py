"""Writes the events of all workers as one file for Perfetto and chrome://tracing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

from .clocks import Clock
from .recorder import Notes, Slice

Json = dict[str, Any]


def without_own_calls(workers: list[Notes]) -> list[Notes]:
    """Drop the calls of the tracer itself."""
    own = {each.call for notes in workers for each in notes.slices if each.kind == "send" and _is_own(each.name)}
    own |= {f"answer.{call}" for call in own}
    return [
        notes._replace(
            slices=[each for each in notes.slices if each.call not in own and not _is_own(each.name)],
            arrows=[each for each in notes.arrows if each.call not in own],
        )
        for notes in workers
    ]


def _is_own(name: str) -> bool:
    return name.startswith(("send _trace_", "rpc_sync#_trace_", "rpc_async#_trace_"))


def _names(workers: list[Notes]) -> dict[str, str]:
    """The name of each message: only its sender knows the function."""
    sent = (each for notes in workers for each in notes.slices if each.kind == "send" and each.call)
    return {each.call: each.name.removeprefix("send ") for each in sent}


def _named(each: Slice, names: dict[str, str]) -> str:
    if each.kind == "serve":
        return names.get(each.call, each.name)
    if each.name == "answer" and each.call.removeprefix("answer.") in names:
        return f"answer of {names[each.call.removeprefix('answer.')]}"
    return each.name


def _of_worker(notes: Notes, clock: Clock, zero: int, names: dict[str, str], drawn: set[str]) -> Iterator[Json]:
    def us(time: int) -> float:
        return round((clock.ours(time) - zero) / 1e3, 3)

    where = {"pid": notes.rank}
    yield {"ph": "M", "name": "process_name", **where, "args": {"name": f"rank {notes.rank}: {notes.worker}"}}
    yield {"ph": "M", "name": "process_sort_index", **where, "args": {"sort_index": notes.rank}}
    for thread, name in notes.threads.items():
        yield {"ph": "M", "name": "thread_name", **where, "tid": thread, "args": {"name": name}}
    for each in notes.slices:
        start = us(each.start)
        if start < 0:  # the calls that started the trace
            continue
        yield {"ph": "X", "cat": each.kind, "name": _named(each, names), **where, "tid": each.thread, "ts": start,
               "dur": round(us(each.end) - start, 3)}  # fmt: skip
    for arrow in notes.arrows:
        if arrow.call in drawn:
            cat = "answer" if arrow.call.startswith("answer.") else "rpc"
            yield {"ph": arrow.end, "id": arrow.call, "cat": cat, "name": cat, "bp": "e", **where,
                   "tid": arrow.thread, "ts": us(arrow.time)}  # fmt: skip
    for place, phase in enumerate(notes.phases):
        ends = {"cat": "backward", "name": phase.name, **where, "tid": 0, "id": f"{notes.rank}.{place}"}
        yield {"ph": "b", **ends, "ts": us(phase.start)}
        yield {"ph": "e", **ends, "ts": us(phase.end)}


def render(workers: list[Notes], clocks: dict[int, Clock], zero: int) -> Json:
    """The trace of all workers in Chrome's format; `zero` is its start on the clock of the worker that requested it.

    `clocks` has the clocks of the other workers, by rank.
    """
    workers = without_own_calls(workers)
    names = _names(workers)

    def ends(which: str) -> set[str]:
        arrows = ((clocks[notes.rank], arrow) for notes in workers for arrow in notes.arrows if arrow.end == which)
        return {arrow.call for clock, arrow in arrows if clock.ours(arrow.time) >= zero}

    left, came = ends("s"), ends("f")
    events = [each for notes in workers for each in _of_worker(notes, clocks[notes.rank], zero, names, left & came)]
    known = {f"clock of rank {rank} known to, us": clock.error / 1e3 for rank, clock in sorted(clocks.items())}
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": known}


def write(path: str, trace: Json) -> None:
    """Write the file, compressed if its name ends with .gz."""
    text = json.dumps(trace)
    if path.endswith(".gz"):
        with gzip.open(path, "wt") as packed:
            packed.write(text)
    else:
        with open(path, "w") as plain:
            plain.write(text)
