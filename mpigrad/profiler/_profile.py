"""`profile`: starts and stops autograd's profiler according to a schedule of steps."""

from __future__ import annotations

import enum
import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.profiler import profile as autograd_profile
from ..autograd.profiler import record_function
from ..autograd.profiler_util import EventList


class ProfilerActivity(enum.Enum):
    """What can be profiled; only the CPU can."""

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What the profiler does in one step: NONE, WARMUP, RECORD, or RECORD_AND_SAVE (the last step of a cycle)."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> set[ProfilerActivity]:
    """The supported activities: only the CPU.

    >>> import mpigrad.profiler
    >>> mpigrad.profiler.supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule for `profile`: which steps of a loop are recorded.

    Skip `skip_first` steps, then repeat cycles: `wait` steps without profiler, `warmup` steps that are profiled and
    dropped, `active` steps that are recorded; `repeat` cycles, 0 for no end. `skip_first_wait=1`: without the
    `wait` steps of the first cycle.

    >>> import mpigrad.profiler
    >>> plan = mpigrad.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first + (0 if skip_first_wait == 0 else -wait)
        if step < 0 or repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """A function for `on_trace_ready` that writes each trace to a file in the directory `dir_name`.

    `worker_name`: the beginning of the file's name, by default host and process id. `use_gzip`: compress it.

    >>> import os, tempfile
    >>> import mpigrad, mpigrad.profiler
    >>> folder = tempfile.mkdtemp()
    >>> with mpigrad.profiler.profile(on_trace_ready=mpigrad.profiler.tensorboard_trace_handler(folder, "me")):
    ...     y = mpigrad.ones(2) + 1
    >>> [name.startswith("me.") for name in os.listdir(folder)]
    [True]
    """

    def write(prof: profile) -> None:
        import os
        import socket
        import time

        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """A context manager that profiles the steps of a program that a `schedule` selects, by default all; call `step()`
    after each step.

    - `schedule`: a function from the number of a step to a `ProfilerAction`, such as `mpigrad.profiler.schedule`
      returns.
    - `on_trace_ready`: called with the profiler at the end of each cycle.
    - `record_shapes`, `profile_memory`, `with_stack`, `with_flops`: as for `mpigrad.autograd.profiler.profile`.
    - `acc_events`: keep the events of all cycles; otherwise those of a cycle replace those of the one before.

    With a schedule each step is an event, `ProfilerStep*`. Only the CPU is profiled.

    >>> import mpigrad, mpigrad.profiler
    >>> with mpigrad.profiler.profile() as prof:
    ...     y = mpigrad.ones(2) * 2
    >>> "aten::mul" in prof.key_averages().table()
    True
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        if ProfilerActivity.CUDA in self.activities or use_cuda:
            warnings.warn("the profiler times the host alone, disabling CUDA profiling", stacklevel=2)
        if ProfilerActivity.CPU not in self.activities:
            raise AssertionError("No activities specified for the profiler")
        self.record_steps = schedule is not None
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self.with_stack, self.record_shapes, self.with_flops = with_stack, record_shapes, with_flops
        self.profile_memory, self.acc_events = profile_memory, acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: autograd_profile | None = None
        self.step_rec_fn: record_function | None = None
        self._running = False
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start profiling, and the first step; entering a `with` block does the same."""
        if self.current_action in _RECORDS:
            self._begin()
        self._begin_step()

    def stop(self) -> None:
        """End the last step and profiling; leaving the `with` block does the same."""
        self._end_step()
        if self._running:
            self._end()
            self._ready()

    def step(self) -> None:
        """Mark the end of one step of the program and the start of the next, for the `schedule`."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._running and (before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in _RECORDS):
            self._end()
            self._ready()
        if not self._running and self.current_action in _RECORDS:
            self._begin()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps and self._running:
            self.step_rec_fn = record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _begin(self) -> None:
        if self.profiler is None or not self.acc_events:
            self.profiler = autograd_profile(
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                acc_events=self.acc_events,
            )
        self.profiler.__enter__()
        self._running = True

    def _end(self) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._running = False

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _found(self, what: str) -> autograd_profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList | None:
        """The recorded events, an `EventList`: those of the last cycle of the schedule; None while nothing has been
        recorded.
        """
        return self._found("accessing events").function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One average for each name of an event: an `EventList`. The arguments are those of `EventList.key_averages`.
        """
        found = self._found("getting key averages")
        return found.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def add_metadata(self, key: str, value: str) -> None:
        """Add a text to the metadata of the trace file, under the name `key`.

        >>> import mpigrad.profiler
        >>> with mpigrad.profiler.profile() as prof:
        ...     prof.add_metadata("run", "first")
        """
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Add a value, given as JSON text, to the metadata of the trace file, under the name `key`."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to the file `path` for chrome://tracing or Perfetto, compressed if the name ends with .gz.
        """
        found = self._found("exporting chrome trace")
        if not path.endswith(".gz"):
            found.export_chrome_trace(path, self._metadata)
            return
        import gzip
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:  # not beside `path`, where a file of the user may have the name
            plain = os.path.join(folder, "trace.json")
            found.export_chrome_trace(plain, self._metadata)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                target.write(source.read())

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the call stacks to the file `path` for flame graphs; needs `with_stack=True`. `metric` is the time
        that is counted.
        """
        self._found("exporting stacks").export_stacks(path, metric)
