"""Calls in the profiler: one event for each, and the events of the other side, which the answer brings along.

While a profiler is active on the caller, the function runs inside `run_watched` on the callee, under a profiler there (but
for closures, asynchronous functions and `remote`, whose results do not come back this way: only the call is noted). Its
events come back with the result and are moved to the caller's clock: the middle of the function's time is taken as the
middle of the call's. Without an active profiler nothing of this is installed, and calls cost nothing more.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from mpigrad.autograd import profiler
from mpigrad.futures import Future

from . import _current, _seams
from ._functions import function_of, label, name_of
from ._worker import WorkerInfo

REMOTE = "#remote_op: "
Found = tuple[Any, ...]  # what a profiler notes of an event: name, start, end, thread, kind, stack, shapes, node, flow
Send = Callable[[Any, Any, Any], Any]  # (function, args, kwargs) -> result or future

_numbers = itertools.count(1)


class _Call:
    """One call: its name, when it began, and the profilers that want to know."""

    def __init__(self, kind: str, func: Any, info: WorkerInfo) -> None:
        agent = _current.get_agent()
        self.owners = list(profiler.active)
        self.name = f"{kind}#{label(func)}({agent.info.name} -> {info.name})"
        self.flow = agent.rank << 32 | next(_numbers)
        self.node, self.other = agent.rank, info.id
        self.thread = threading.get_native_id()
        self.start = perf_counter_ns()

    def over(self, events: Sequence[Found] = (), begin: int = 0, end: int = 0) -> None:
        """Note the call, and what happened on the other side between `begin` and `end` of its clock."""
        now = perf_counter_ns()
        shift = (self.start + now - begin - end) // 2
        found: list[Found] = [(self.name, self.start, now, self.thread, "rpc", (), (), self.node, self.flow)]
        for name, start, stop, thread, kind, stack, shapes, node, flow in events:
            if thread >= 0:  # of the callee itself, not of a call that it made
                thread, node, flow = -self.flow, self.other, flow or self.flow
            found.append((self.name + REMOTE + name, start + shift, stop + shift, thread, kind, stack, shapes, node, flow))
        for owner in self.owners:
            owner._found.extend(found)

    def arrived(self, answer: tuple[Any, ...]) -> Any:
        """Take the answer of `run_watched` apart."""
        self.over(*answer[1:])
        return answer[0]

    def follow(self, answer: Future) -> Future:
        """The future of the result alone; it fails as the answer does."""
        result: Future = Future()

        def ended(fut: Future) -> None:
            try:
                result.set_result(self.arrived(fut.value()))
            except BaseException as error:
                self.over()
                result.set_exception(error)

        answer._add(ended)
        return result


def profiled(kind: str, info: WorkerInfo, func: Any, args: Any, kwargs: Any, send: Send) -> Any:
    """Make a call with `send`, and have all active profilers note it."""
    call = _Call(kind, func, info)
    name = name_of(func)  # None for closures: they travel on their own only
    if kind == "remote" or name is None or hasattr(func, "_wrapped_async_rpc_function"):
        try:
            result = send(func, args, kwargs)
        except BaseException:
            call.over()
            raise
        if isinstance(result, Future):
            result._add(lambda fut: call.over())
        else:
            call.over()
        return result
    try:
        answer = send(run_watched, (name, args, kwargs), None)
    except BaseException:
        call.over()
        raise
    return call.follow(answer) if isinstance(answer, Future) else call.arrived(answer)


def run_watched(name: bytes, args: Any, kwargs: Any) -> tuple[Any, list[Found], int, int]:
    """Runs on the callee: the result, the events of this thread and of calls it made, and when it began and ended."""
    func = function_of(name)
    begin = perf_counter_ns()
    with profiler.profile() as watching:
        result = func(*(args or ()), **(kwargs or {}))
    return result, _own(watching._found), begin, perf_counter_ns()


def _own(found: list[Found]) -> list[Found]:
    """What this thread did, and what its calls did elsewhere: they are noted after the call, in the "thread" -flow."""
    threads, kept = {threading.get_native_id()}, []
    for each in found:
        wide = each if len(each) == 9 else (*each, -1, 0)
        if wide[3] in threads:
            threads.add(-wide[8])
            kept.append(wide)
    return kept


def _activity(active: bool) -> None:
    _seams.install_profiler(profiled if active else None)


def _started(agent: Any) -> None:
    profiler.default_node = agent.rank


def _stopped(agent: Any) -> None:
    profiler.default_node = -1


profiler.activity_hooks.append(_activity)
_seams.start_hooks.append(_started)
_seams.shutdown_hooks.append(_stopped)
_activity(bool(profiler.active))
