"""Calls in the profiler: one event for each, and the events of the other side, which come back to the caller.

While a profiler is active on the caller, the function runs inside a `watched` one on the callee, under a profiler there.
What that finds comes back with the answer; the answer to `remote` is for the RRef, so there it comes as a message of its
own. The events are moved to the caller's clock: the middle of the function's time is taken as the middle of the call's.
Without an active profiler nothing of this is installed, and calls cost nothing more.
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
from mpigrad._core.rpc.function_names import function_of, is_library, label, name_of
from mpigrad.autograd import profiler

from .._protocol import extensions
from .._protocol.message import MessageType
from .._protocol.worker_info import WorkerInfo
from ..functions import async_execution
from . import current

REMOTE = "#remote_op: "
Noted = profiler.Noted
Report = tuple[list[Noted], int, int]  # events of the other side, when it began and ended there
Send = Callable[[Any, Any, Any], Any]  # (function, args, kwargs) -> result or future

_REPORT = int(MessageType.RUN_WITH_PROFILING_RESP)
_numbers = itertools.count(1)
_reported: dict[int, _Call] = {}  # calls of `remote` whose events come in a message of their own


def title_of(func: Any) -> str:
    """A function's name in events: operators and scripted functions have PyTorch's spelling."""
    name = name_of(func)
    if name is not None and is_library(name):
        return "aten::" + func.__name__
    return getattr(func, "qualified_name", None) or label(func)


class _Call:
    """One call: its name, when it began, and the profilers that want to know."""

    def __init__(self, kind: str, func: Any, info: WorkerInfo) -> None:
        agent = current.get_agent()
        self.owners = [each for each in profiler.watching() if each.follows_calls]
        self.name = f"{kind}#{title_of(func)}({agent.info.name} -> {info.name})"
        self.flow = agent.rank << 32 | next(_numbers)
        self.node, self.other = agent.rank, info.id
        self.thread = threading.get_native_id()
        self.start = perf_counter_ns()

    def over(self, events: Sequence[Noted] = (), begin: int = 0, end: int = 0) -> None:
        """Note the call, and what happened on the other side between `begin` and `end` of its clock."""
        now = perf_counter_ns()
        shift = (self.start + now - begin - end) // 2
        found = [Noted(self.name, self.start, now, self.thread, "rpc", node=self.node, flow=self.flow)]
        for each in events:
            name, start, stop = self.name + REMOTE + each.name, each.start + shift, each.end + shift
            moved = each._replace(name=name, start=start, end=stop)
            if each.thread >= 0:  # of the callee itself, not of a call that it made
                moved = moved._replace(thread=-self.flow, node=self.other, flow=each.flow or self.flow)
            found.append(moved)
        for owner in self.owners:
            owner._found.extend(found)

    @property
    def wanted(self) -> dict[str, bool]:
        """What the profilers look at, for the one on the other side."""
        options = ("record_shapes", "profile_memory", "with_flops", "with_stack")
        return {name: True for name in options if any(getattr(each, name) for each in self.owners)}

    def arrived(self, answer: tuple[Any, ...]) -> Any:
        """Take the answer of a watched function apart."""
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
                result._set(2, error)

        answer._add(ended)
        return result

    def expect_report(self, answer: Future) -> Future:
        """`remote` ends with the report, which comes before the value can be fetched; or with an error without one."""
        answer._add(lambda fut: _end_unreported(self.flow) if fut._state == 2 else None)
        return answer


def profiled(kind: str, info: WorkerInfo, func: Any, args: Any, kwargs: Any, send: Send) -> Any:
    """Make a call with `send`, and have all active profilers note it."""
    call = _Call(kind, func, info)
    named = name_of(func) or func  # closures travel as they are
    try:
        if kind == "rpc_remote":
            _reported[call.flow] = call
            return call.expect_report(send(watched_remote, (call.node, call.flow, call.wanted, named, args, kwargs), None))
        later = hasattr(func, "_wrapped_async_rpc_function")
        answer = send(watched_async if later else watched, (call.wanted, named, args, kwargs), None)
    except BaseException:
        _reported.pop(call.flow, None)
        call.over()
        raise
    return call.follow(answer) if isinstance(answer, Future) else call.arrived(answer)


# -- on the callee -----------------------------------------------------------------------------------------------------
class _Watching:
    """A profiler on the callee: what this thread did, and what the calls that it made did elsewhere."""

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
        """End the profiler; what it found."""
        self._profile.__exit__()
        threads, kept = {self.thread}, []
        for each in self._profile._found:  # calls are noted after what they did, which is in the "thread" -flow
            if each.thread in threads:
                threads.add(-each.flow)
                kept.append(each)
        return kept, self.begin, perf_counter_ns()


def watched(wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Run a function: its result and the report."""
    watching = _Watching(wanted, named, args, kwargs)
    return (watching.result, *watching.report())


@async_execution
def watched_async(wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> Any:
    """The same for a function that returns a Future."""
    watching = _Watching(wanted, named, args, kwargs)
    if not isinstance(watching.result, Future):
        watching.report()
        return watching.result  # the complaint about it is the same as without a profiler
    return watching.result.then(lambda fut: (fut, watching.report())).then(_with_report)


def _with_report(fut: Future) -> tuple[Any, ...]:
    result, report = fut.value()
    return (result.value(), *report)


def watched_remote(caller: int, flow: int, wanted: dict[str, Any], named: Any, args: Any, kwargs: Any) -> Any:
    """The same for `remote`: the result stays here, the report is sent."""

    def send(fut: Any = None) -> None:
        agent.request(caller, _REPORT, pickle.dumps(watching.report()), extra=flow)

    agent = current.get_agent()
    try:
        watching = _Watching(wanted, named, args, kwargs)
    except BaseException:
        agent.request(caller, _REPORT, pickle.dumps(([], 0, 0)), extra=flow)
        raise
    if isinstance(watching.result, Future):
        watching.result._add(send)
    else:
        send()
    return watching.result


def _take_report(agent: Agent, message: extensions.RawMessage) -> None:
    call = _reported.pop(message.extra, None)
    if call is not None:
        call.over(*pickle.loads(message.body))


def _end_unreported(flow: int) -> None:
    call = _reported.pop(flow, None)
    if call is not None:
        call.over()


# -- when to do all this -----------------------------------------------------------------------------------------------
def _activity(active: bool) -> None:
    wanted = active and any(each.follows_calls for each in profiler.active)
    extensions.install_profiler(profiled if wanted else None)


def _started(agent: Agent) -> None:
    profiler.default_node = agent.rank


def _stopped(agent: Agent) -> None:
    profiler.default_node = -1
    _reported.clear()


profiler.activity_hooks.append(_activity)
extensions.start_hooks.append(_started)
extensions.shutdown_hooks.append(_stopped)
extensions.register_handler(_REPORT, _take_report)
_activity(bool(profiler.active))
