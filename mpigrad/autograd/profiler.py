"""The profiler: records when each operator, node and labelled block ran. No cost while no profiler is active."""

from __future__ import annotations

import functools
import os
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter_ns
from types import FrameType
from typing import Any, NamedTuple

from .._graph.tracing import activity_hooks, unwatch, watch
from ._operator_names import shown
from ._profiler_flops import flops
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, nest

_lock = threading.Lock()
active: list[profile] = []
default_node = -1  # the rank while RPC runs


class _Scope(threading.local):
    """Thread-local: while this thread works for a remote caller's profiler, only that profiler records it."""

    only: profile | None = None


SCOPE = _Scope()
_NOT_SEEN: nullcontext[None] = nullcontext()


def watching() -> list[profile]:
    """The profilers that record this thread."""
    return list(active) if SCOPE.only is None else [SCOPE.only]


def _tell() -> None:
    for hook in activity_hooks:
        hook(bool(active))


class Noted(NamedTuple):
    """A recorded event, before the results are computed; times in nanoseconds."""

    name: str
    start: int
    end: int
    thread: int
    kind: str
    stack: Any = ()
    shapes: Any = ()
    flops: int = 0
    memory: int = 0
    node: int | None = None  # the rank, if the event is from another worker
    flow: int = 0


class _Span:
    """A context manager that records one event in one profiler."""

    __slots__ = ("flops", "kind", "memory", "name", "owner", "shapes", "stack", "start")

    def __init__(self, owner: profile, name: str, kind: str, inputs: Any = ()) -> None:
        self.owner, self.name, self.kind, self.flops, self.memory = owner, name, kind, 0, 0
        wanted = owner.record_shapes or owner.with_flops
        shapes = [list(getattr(each, "shape", ())) for each in inputs] if wanted else ()
        if owner.with_flops:
            self.flops = flops(name, shapes)
        self.shapes = shapes if owner.record_shapes else ()
        self.stack = _stack(sys._getframe(2)) if owner.with_stack else ()

    def __enter__(self) -> None:
        if self.owner.profile_memory:
            self.memory = -_in_use()
        self.start = perf_counter_ns()

    def __exit__(self, *error: object) -> None:
        self.end(threading.get_native_id())

    def end(self, thread: int) -> None:
        """Record the end of the event."""
        now = perf_counter_ns()
        memory = self.memory + _in_use() if self.owner.profile_memory else 0
        self.owner._found.append(
            Noted(self.name, self.start, now, thread, self.kind, self.stack, self.shapes, self.flops, memory)
        )


def _in_use() -> int:
    """Bytes allocated by Python and NumPy since a profiler of memory started."""
    return tracemalloc.get_traced_memory()[0]


class _Memory:
    """Runs `tracemalloc` while a profiler records memory."""

    users = 0

    @classmethod
    def begin(cls) -> None:
        with _lock:
            cls.users += 1
            if cls.users == 1 and not tracemalloc.is_tracing():
                # tracemalloc has no nesting: leave it running if the program had started it
                tracemalloc.start()
                cls.started = True

    @classmethod
    def end(cls) -> None:
        with _lock:
            cls.users -= 1
            if not cls.users and cls.started:
                tracemalloc.stop()
                cls.started = False

    started = False


_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_INNER = tuple(os.path.join(_PACKAGE, name) for name in ("_graph", "_ops", os.path.join("autograd", "profiler")))


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """The call stack, innermost first, starting at the caller of the operator."""
    # frames of operators and of this profiler are skipped: the caller is what users look for
    found = []
    while frame is not None and frame.f_code.co_filename.startswith(_INNER):
        frame = frame.f_back
    while frame is not None:
        code = frame.f_code
        found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return tuple(found)


class profile:
    """A context manager that records the operators, backward nodes and labelled blocks that run inside it, on all
    threads.

    - `record_shapes`: note the shapes of inputs. `with_stack`: note the call stack.
    - `profile_memory`: record what Python and NumPy allocate (slowly, with `tracemalloc`).
    - `with_flops`: count floating-point operations of matrix products, `add` and `mul`.

    Only work of the host is timed, not that of GPUs. Results: `key_averages()`, `table()`, `function_events`.

    >>> import mpigrad
    >>> x = mpigrad.ones(2, requires_grad=True)
    >>> with mpigrad.autograd.profiler.profile() as prof:
    ...     (x * 2).sum().backward()
    >>> "aten::mul" in [event.key for event in prof.key_averages()]
    True
    """

    follows_calls = True  # whether calls to other workers return the events of the callee

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
    ) -> None:
        if use_device == "cuda" or use_cuda:
            warnings.warn("the profiler times the host alone, disabling CUDA profiling", stacklevel=2)
        if not use_cpu:
            raise AssertionError("No activities specified for the profiler")
        self.enabled, self.with_stack, self.record_shapes = enabled, with_stack, record_shapes
        self.profile_memory, self.with_flops = profile_memory, with_flops
        self.acc_events = acc_events
        self.entered = False
        self.function_events: EventList | None = None
        self._found: list[Noted] = []
        self._zero = 0
        self._node = -1

    def __enter__(self) -> profile:
        if self.enabled:
            if self.entered:
                raise RuntimeError("Profiler context manager is not reentrant")
            self.entered = True
            self._start()
        return self

    def _start(self) -> None:
        self._zero = self._zero or perf_counter_ns()
        self._node = default_node
        if self.profile_memory:
            _Memory.begin()
        watch(self)
        with _lock:
            active.append(self)
            _tell()

    def __exit__(self, *error: object) -> None:
        if self.enabled and self.entered:
            with _lock:
                active.remove(self)
                _tell()
            unwatch(self)
            if self.profile_memory:
                _Memory.end()
            if self.acc_events:
                self.entered = False
            self.function_events = self._events()

    def _events(self) -> EventList:
        events = nest(self._event(place, each) for place, each in enumerate(self._found))
        events.profile_memory = self.profile_memory
        return events

    def _event(self, place: int, noted: Noted) -> FunctionEvent:
        name, start, end, thread, kind, stack, shapes, flops, memory, node, flow = noted
        zero = self._zero
        made = FunctionEvent(
            place, name, (start - zero) / 1e3, (end - zero) / 1e3, thread, kind, stack, shapes, flops, memory
        )
        made.node_id, made.flow = self._node if node is None else node, flow
        made.is_remote, made.is_async = thread < 0, kind == "rpc"
        return made

    # -- watcher interface, see _graph/tracing.py -----------------------------------------------------------------------
    def operator(self, name: str, inputs: Any) -> _Span | nullcontext[None]:
        """Return a context manager that records the operator `name`; operators call it while this profiler is active."""
        if SCOPE.only is not None and SCOPE.only is not self:
            return _NOT_SEEN
        return _Span(self, shown(name), "cpu_op", inputs)

    def node(self, node: Any) -> _Span | nullcontext[None]:
        """Return a context manager that records a node of a backward pass; the engine calls it while this profiler is active."""
        if SCOPE.only is not None and SCOPE.only is not self:
            return _NOT_SEEN
        return _Span(self, node.name(), "cpu_op")

    def recorded(self, node: Any) -> None:
        """Do nothing: called when a graph node is recorded, which takes no time worth recording."""

    def ran(self, node: Any, results: Any, F: Any) -> None:
        """Do nothing: called when a graph node has run, for watchers that inspect its results, such as anomaly detection."""

    # -- results -------------------------------------------------------------------------------------------------
    def _finished(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The mean times of the events of each name: an `EventList` of averages. The arguments are those of
        `EventList.key_averages`.
        """
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sums over all recorded events, as one `FunctionEventAvg`."""
        return self._finished().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The events as text. The arguments are those of `EventList.table`."""
        return self._finished().table(sort_by, row_limit, **options)

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Write the events, together with `metadata`, to the file `path` for chrome://tracing or Perfetto."""
        self._finished().export_chrome_trace(path, metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks to the file `path` for flame graphs; needs `with_stack=True`. `metric` is the time that is
        counted.
        """
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._finished().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        """The time spent in all events together, in microseconds."""
        return self._finished().self_cpu_time_total

    def __str__(self) -> str:
        return "<unfinished profiler_legacy.profile>" if self.function_events is None else str(self.function_events)

    def __repr__(self) -> str:
        return str(self)


class record_function:
    """Label a block, or as a decorator a function, with `name` in the profiler's results.

    >>> import mpigrad
    >>> with mpigrad.autograd.profiler.profile() as prof:
    ...     with mpigrad.autograd.profiler.record_function("my block"):
    ...         y = mpigrad.ones(2) * 2
    >>> [event.name for event in prof.function_events][0]
    'my block'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self.run_callbacks_on_exit = True
        self._spans: tuple[_Span, ...] = ()

    def __enter__(self) -> record_function:
        if active:
            self._spans = tuple(_Span(each, self.name, "user_annotation") for each in watching())
            for span in self._spans:
                span.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self.run_callbacks_on_exit:
            self._end(threading.get_native_id())

    def _end(self, thread: int) -> None:
        spans, self._spans = self._spans, ()
        for span in spans:
            span.end(thread)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return fn(*args, **kwargs)

        return wrapper

    def _call_end_callbacks_on_future(self, fut: Any) -> Any:
        """Extend the block until a future is done; returns a future with the same result that completes after the block."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        return self._end_with(fut)

    def _end_with(self, fut: Any) -> Any:
        thread = threading.get_native_id()

        def done(finished: Any) -> Any:
            self._end(thread)
            return finished.value()

        return fut.then(done)

    @property
    def record(self) -> record_function:
        """This object, under the name that programs use to pass it to operators of `mpigrad.ops.profiler`."""
        return self


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]
