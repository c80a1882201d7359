"""Results of a profiler: nested events, their averages, and tables."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._profiler_table import format_time, table


class Interval(NamedTuple):
    """A span of time, with `start` and `end` in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """The length of the interval in microseconds."""
        return self.end - self.start


class DeviceType(enum.Enum):
    """The device of an event; always `DeviceType.CPU`, as GPUs are not timed."""

    CPU = 0
    CUDA = 1


class _Times:
    """The common part of events and averages. GPUs are not timed, so their times are 0."""

    count: int
    node_id: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int
    self_cpu_memory_usage: int
    cuda_time = cuda_time_total = self_cuda_time_total = device_time = device_time_total = self_device_time_total = 0.0
    cuda_memory_usage = self_cuda_memory_usage = device_memory_usage = self_device_memory_usage = 0
    device_type = DeviceType.CPU
    use_device: str | None = None
    overload_name = ""
    is_legacy = False

    @property
    def cpu_time(self) -> float:
        """The mean CPU time of a call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(self.device_time)

    @property
    def device_time_total_str(self) -> str:
        return format_time(self.device_time_total)

    @property
    def self_device_time_total_str(self) -> str:
        return format_time(self.self_device_time_total)


class FunctionEvent(_Times):
    """One recorded operator, graph node or labelled block.

    Attributes: `name`; `time_range` (an `Interval`); `thread`, a number; `cpu_parent` and `cpu_children`, the events around and
    inside it; and, if they were recorded, `stack`, `input_shapes`, `flops` and `cpu_memory_usage` (bytes).
    """

    count = 1

    def __init__(
        self,
        id: int,
        name: str,
        start: float,
        end: float,
        thread: int,
        kind: str,
        stack: Sequence[str] = (),
        input_shapes: Sequence[Any] = (),
        flops: int = 0,
        cpu_memory_usage: int = 0,
    ) -> None:
        self.id, self.thread, self.kind, self.stack = id, thread, kind, list(stack)
        self.trace_name = name  # the name in traces; averages combine all steps
        self.name = "ProfilerStep*" if name.startswith("ProfilerStep#") else name
        self.flops, self.cpu_memory_usage = flops, cpu_memory_usage
        self.time_range = Interval(start, end)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes = list(input_shapes)
        self.is_async = self.is_remote = False
        self.node_id = -1
        self.flow = 0  # identifies a call between workers: the same number for the call and the callee's events
        self.is_user_annotation = kind == "user_annotation"

    @property
    def key(self) -> str:
        """The name of the event, by which `key_averages` groups events."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds between the start and the end of the event."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds spent in the event itself, without nested events; a call to another worker counts as zero."""
        return 0.0 if self.is_async else self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:  # type: ignore[override]
        """Bytes allocated minus bytes freed, without nested events."""
        return 0 if self.is_async else self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        start, end = self.time_range
        return (
            f"<FunctionEvent id={self.id} name={self.name} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={start:.3f} end_us={end:.3f} cpu_children={[child.id for child in self.cpu_children]} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"is_async={self.is_async} is_remote={self.is_remote}>"
        )


class FunctionEventAvg(_Times):
    """The sums of all events of one name, from which `cpu_time` and others give means."""

    def __init__(self, key: str) -> None:
        self.key, self.count, self.stack = key, 0, []  # type: ignore[var-annotated]
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = self.flops = 0
        self.input_shapes: list[Any] = []
        self.is_async = self.is_remote = self.is_user_annotation = False
        self.node_id = -1
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or another average, to the sums; returns this object."""
        if not self.count:
            self.node_id, self.is_async, self.is_remote = event.node_id, event.is_async, event.is_remote
            self.cpu_parent, self.cpu_children = event.cpu_parent, event.cpu_children
        self.count += event.count
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.flops += event.flops
        if not _inside_its_own(event):
            self.cpu_time_total += event.cpu_time_total
        self.is_user_annotation |= event.is_user_annotation
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count} node_id={self.node_id}>"
        )


def _inside_its_own(event: Any) -> bool:
    """Whether the event is nested in one of the same name, whose time already includes it."""
    above = getattr(event, "cpu_parent", None)
    while above is not None:
        if above.name == event.name:
            return True
        above = above.cpu_parent
    return False


class EventList(list):
    """A list of events, or of averages of them."""

    profile_memory = False  # whether tables have columns for memory

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events, each moment counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Group the events by name: an `EventList` with one `FunctionEventAvg` for each group.

        `group_by_input_shape`: by name and input shapes (needs `record_shapes`). `group_by_stack_n`: also by call stack, compared
        up to this number of frames (needs `with_stack`). `group_by_overload_name` is ignored.
        """
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            key = (event.key, event.node_id, event.is_user_annotation, shapes, *event.stack[:group_by_stack_n])
            average = found.setdefault(key, FunctionEventAvg(event.key)).add(event)
            if group_by_input_shape:
                average.input_shapes = event.input_shapes
            average.stack = event.stack[:group_by_stack_n]
        return self._like_this(found.values())

    def _like_this(self, events: Iterable[Any]) -> EventList:
        made = EventList(events)
        made.profile_memory = self.profile_memory
        return made

    def total_average(self) -> FunctionEventAvg:
        """The sums over all events of the list, as one `FunctionEventAvg`."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Write the events, with `metadata`, to a file for chrome://tracing or Perfetto."""
        import json
        import os

        pid = os.getpid()
        events: list[dict[str, Any]] = [
            {
                "ph": "X",
                "cat": event.kind,
                "name": event.trace_name,
                "pid": pid if event.node_id < 0 else event.node_id,
                "tid": event.thread,
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "args": {},
            }
            for event in self
        ]
        events += flows(self)
        with open(path, "w") as file:
            json.dump({**(metadata or {}), "traceEvents": events, "displayTimeUnit": "ms"}, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """The values that the argument `metric` of `export_stacks` may have."""
        return ["self_cpu_time_total", "self_cuda_time_total"]

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line for each stack to the file `path`, for flame graphs; `metric` is the time that is counted."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        with open(path, "w") as file:
            for event in self:
                if event.stack:
                    frames = ";".join(frame.replace(";", ":").replace(" ", "_") for frame in reversed(event.stack))
                    file.write(f"{frames} {int(getattr(event, metric))}\n")

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, one line each, sorted by the column `sort_by` in descending order.

        - `sort_by`: a column such as "cpu_time_total", "self_cpu_time_total" or "count"; None keeps the order of the
          list.
        - `row_limit`: the number of lines, -1 for all. `top_level_events_only`: leave out nested events.
        - `header`: a title. `time_unit`: "s", "ms" or "us" for all times. The widths limit columns.
        """
        rows = [event for event in self if not top_level_events_only or event.cpu_parent is None]
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        return table(
            rows if row_limit == -1 else rows[:row_limit],
            self.self_cpu_time_total,
            header=header,
            name_width=max_name_column_width,
            source_width=max_src_column_width,
            shapes_width=max_shapes_column_width,
            top_level=top_level_events_only,
            memory=self.profile_memory,
            unit=time_unit,
        )


def flows(events: Iterable[FunctionEvent]) -> list[dict[str, Any]]:
    """The arrows of a trace, from each call to the first event on the callee; and the workers' names."""
    found: list[dict[str, Any]] = []
    calls: dict[int, FunctionEvent] = {}
    for event in events:
        if event.node_id >= 0:
            found.append({"ph": "M", "name": "process_name", "pid": event.node_id, "args": {"name": f"rank {event.node_id}"}})
        if event.flow and event.kind == "rpc":
            calls[event.flow] = event
        elif event.flow in calls:
            call = calls.pop(event.flow)
            for phase, end in (("s", call), ("f", event)):
                found.append(
                    {"ph": phase, "id": event.flow, "cat": "rpc", "name": "call", "bp": "e", "pid": end.node_id,
                     "tid": end.thread, "ts": end.time_range.start}
                )  # fmt: skip
    return found


def nest(events: Iterable[FunctionEvent]) -> EventList:
    """Sort events by start, and make each the child of the event on its thread that surrounds it; returns them as an
    `EventList`.
    """
    ordered = EventList(sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)))
    open_ones: dict[int, list[FunctionEvent]] = {}
    for event in ordered:
        stack = open_ones.setdefault(event.thread, [])
        if event.is_async:  # it may end after the event that surrounds its start
            continue
        while stack and stack[-1].time_range.end < event.time_range.end:
            stack.pop()
        if stack:
            event.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(event)
        stack.append(event)
    return ordered


__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "format_time", "nest"]
