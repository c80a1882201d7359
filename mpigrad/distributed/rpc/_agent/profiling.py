"""Profiling of calls: the caller's profiler gets one event for each call and the events of the callee.

While a profiler is active on the caller, the callee runs the function inside `watched`, under a profiler there. The events
return with the answer. The answer of `remote` belongs to the RRef, so there they return in a separate message. Clocks are
aligned by assuming that the middle of the function's run is the middle of the call. Without an active profiler nothing is
installed, and calls have no extra cost. Each call has a *flow id*, which its events carry on both workers: pictures draw arrows
between events of one flow, and the message with the events of a `remote` call names its call by it.
"""

from __future__ import annotations

import itertools
import pickle
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from mpigrad._core.future import Future
from mpigrad._core.rpc.agent import Agent
from mpigrad._core.rpc.calls import function_of, is_library, label, name_of
from mpigrad._graph.tracing import activity_hooks
from mpigrad.autograd import profiler

from .._protocol import extensions
from .._protocol.message import MessageType
from .._protocol.worker_info import WorkerInfo
from ..functions import async_execution
from . import current

REMOTE = "#remote_op: "
Noted = profiler.Noted
Report = tuple[list[Noted], int, int]  # events of the callee, its start and its end on the callee's clock
Send = Callable[[Any, Any, Any], Any]  # (function, args, kwargs) -> result or future

_REPORT = int(MessageType.RUN_WITH_PROFILING_RESP)
_numbers = itertools.count(1)
_reported: dict[int, _Call] = {}  # calls of `remote` that wait for the message with the callee's events, by flow id


def title_of(func: Any) -> str:
    """Return the name of a function in a profiler's events; operators and scripted functions are spelled as in PyTorch."""
    name = name_of(func)
    if name is not None and is_library(name):
        return "aten::" + func.__name__
    return getattr(func, "qualified_name", None) or label(func)


class _Call:
    """One profiled call on the caller: its name, its start and the profilers that record it.

    `kind` is "rpc_sync", "rpc_async", "rpc_remote" or "rpc_async_jit"; `info` is the callee.
    """

    def __init__(self, kind: str, func: Any, info: WorkerInfo) -> None:
        agent = current.get_agent()
        self.owners = [each for each in profiler.watching() if each.follows_calls]
        self.name = f"{kind}#{title_of(func)}({agent.info.name} -> {info.name})"
        self.flow = agent.rank << 32 | next(_numbers)  # unique over all workers
        self.node, self.other = agent.rank, info.id
        self.thread = threading.get_native_id()
        self.start = perf_counter_ns()
        self.recorded: Future = Future()

    def over(self, events: Sequence[Noted] = (), begin: int = 0, end: int = 0) -> None:
        """Record the call, which ends now, and the callee's events, in all profilers of the caller.

        `begin` and `end` are the start and end of the function on the callee's clock, in nanoseconds. Times of the callee
        are shifted so that the middle of the function lies in the middle of the call.
        """
        now = perf_counter_ns()
        shift = (self.start + now - begin - end) // 2
        found = [Noted(self.name, self.start, now, self.thread, "rpc", node=self.node, flow=self.flow)]
        for each in events:
            name, start, stop = self.name + REMOTE + each.name, each.start + shift, each.end + shift
            moved = each._replace(name=name, start=start, end=stop)
            if each.thread >= 0:  # an event of the callee itself; nested calls are already moved to negative "threads"
                moved = moved._replace(thread=-self.flow, node=self.other, flow=each.flow or self.flow)
            found.append(moved)
        for owner in self.owners:
            owner._found.extend(found)
        if not self.recorded.done():
            self.recorded.set_result(None)

    @property
    def wanted(self) -> dict[str, bool]:
        """Return the options for the profiler on the callee, {name: True}: those that any of the caller's profilers has set."""
        options = ("record_shapes", "profile_memory", "with_flops", "with_stack")
        return {name: True for name in options if any(getattr(each, name) for each in self.owners)}

    def arrived(self, answer: tuple[Any, ...]) -> Any:
        """Record the events in the answer of `watched` and return the result of the function."""
        self.over(*answer[1:])
        return answer[0]

    def follow(self, answer: Future) -> Future:
        """Return a future of the function's result, given the future of the answer of `watched`.

        It fails with the error of the answer. Either way the call is recorded.
        """
        result: Future = Future()

        def ended(fut: Future) -> None:
            try:
                result.set_result(self.arrived(fut.value()))
            except BaseException as error:
                self.over()
                result._set(2, error)

        answer._add(ended)
        return result

    def expect_report(self, answer: Future) -> Future:
        """Return `answer`, the future of a `remote` call, and make sure that the call is recorded.

        A call that succeeds is recorded when the message with the callee's events arrives (`_take_report`); a failed one
        when it fails.
        """
        extensions.profiling_futures[answer] = self.recorded
        answer._add(lambda fut: _take_report(self.flow) if fut._state == 2 else None)
        return answer


def profiled(kind: str, info: WorkerInfo, func: Any, args: Any, kwargs: Any, send: Send) -> Any:
    """Make a call and record it in all active profilers; installed in `extensions` while there are any.

    Args:
        kind: as in `_Call`.
        info: the callee.
        send: makes the call, as `send(function, args, kwargs)`; returns its result, Future or the future of a `remote`
            call.

    Returns what `send` returns, without the events of the callee.
    """
    call = _Call(kind, func, info)
    named = name_of(func) or func  # functions without an importable name are pickled
    try:
        later = hasattr(func, "_wrapped_async_rpc_function")
        if kind == "rpc_remote":
            _reported[call.flow] = call
            run = watched_remote_async if later else watched_remote
            return call.expect_report(send(run, (call.node, call.flow, call.wanted, named, args, kwargs), None))
        answer = send(watched_async if later else watched, (call.wanted, named, args, kwargs), None)
    except BaseException:
        _reported.pop(call.flow, None)
        call.over()
        raise
    return call.follow(answer) if isinstance(answer, Future) else call.arrived(answer)


# -- on the callee -----------------------------------------------------------------------------------------------------
class _Watching:
    """Runs one function on the callee under a profiler, which records this thread and the calls that it makes.

    `wanted` are options of the profiler, `named` is the name of the function (see `name_of`) or the function itself.
    Afterwards `result` is what the function returned.
    """

    def __init__(self, wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> None:
        func = function_of(named) if isinstance(named, bytes) else named
        self.thread, self.begin = threading.get_native_id(), perf_counter_ns()
        self._profile = profiler.profile(**wanted).__enter__()
        before, profiler.SCOPE.only = profiler.SCOPE.only, self._profile
        try:
            self.result = func(*(args or ()), **(kwargs or {}))
        except BaseException:
            self._profile.__exit__()
            raise
        finally:
            profiler.SCOPE.only = before

    def report(self) -> Report:
        """Stop the profiler; returns the events of this function, and its start and end on this clock (nanoseconds)."""
        self._profile.__exit__()
        threads, kept = {self.thread}, []
        for each in self._profile._found:  # events of a nested call have the "thread" -flow
            if each.thread in threads:
                threads.add(-each.flow)
                kept.append(each)
        return kept, self.begin, perf_counter_ns()


def watched(wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Run a function under a profiler; returns the tuple (result, *report), see `_Watching.report`. Runs on the callee."""
    watching = _Watching(wanted, named, args, kwargs)
    return (watching.result, *watching.report())


@async_execution
def watched_async(wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> Any:
    """As `watched`, for a function that returns a Future: returns a Future of the tuple."""
    watching = _Watching(wanted, named, args, kwargs)
    if not isinstance(watching.result, Future):
        watching.report()
        return watching.result  # not a Future: the server raises the same error as without a profiler
    return watching.result.then(lambda fut: (fut, watching.report())).then(_with_report)


def _with_report(fut: Future) -> tuple[Any, ...]:
    result, report = fut.value()
    return (result.value(), *report)


def watched_remote(caller: int, flow: int, wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> Any:
    """As `watched`, for a function called by `remote`: returns the result only, which stays on this worker.

    The report is sent in a message of its own to the rank `caller`; `flow` is the flow id of the call.
    """
    watching = _watch_remote(caller, flow, wanted, named, args, kwargs)
    _send_report(caller, flow, watching.report())
    return watching.result


@async_execution
def watched_remote_async(caller: int, flow: int, wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> Any:
    """As `watched_remote`, for a function that returns a Future."""
    watching = _watch_remote(caller, flow, wanted, named, args, kwargs)
    if isinstance(watching.result, Future):
        watching.result._add(lambda fut: _send_report(caller, flow, watching.report()))
    else:  # the server raises the same error as without a profiler
        _send_report(caller, flow, watching.report())
    return watching.result


def _watch_remote(caller: int, flow: int, wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> _Watching:
    try:
        return _Watching(wanted, named, args, kwargs)
    except BaseException:
        _send_report(caller, flow, ([], 0, 0))
        raise


def _send_report(caller: int, flow: int, report: Report) -> None:
    agent = current.get_agent()
    if caller == agent.rank:
        _take_report(flow, report)
    else:
        agent.request(caller, _REPORT, pickle.dumps(report), extra=flow)


def _handle_report(agent: Agent, message: extensions.RawMessage) -> None:
    _take_report(message.extra, pickle.loads(message.body))


def _take_report(flow: int, report: Report = ([], 0, 0)) -> None:
    call = _reported.pop(flow, None)
    if call is not None:
        call.over(*report)


# -- installing and removing -------------------------------------------------------------------------------------------
def _activity(active: bool) -> None:
    wanted = active and any(each.follows_calls for each in profiler.active)
    extensions.install_profiler(profiled if wanted else None)


def _started(agent: Agent) -> None:
    profiler.default_node = agent.rank


def _stopped(agent: Agent) -> None:
    profiler.default_node = -1
    _reported.clear()


activity_hooks.append(_activity)
extensions.start_hooks.append(_started)
extensions.shutdown_hooks.append(_stopped)
extensions.register_handler(_REPORT, _handle_report)
_activity(bool(profiler.active))  # this module may be imported when a profiler is active already
if current.current.agent is not None:
    _started(current.current.agent)
