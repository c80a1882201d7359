"""What a profiler found: events with their nesting, averages of them, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

_SORT_KEYS = (
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "count",
    "cuda_time",
    "cuda_time_total",
    "self_cuda_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "device_time",
    "device_time_total",
    "self_device_time_total",
)


class Interval(NamedTuple):
    """A span of time, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


def format_time(us: float) -> str:
    """A time as people read it.

    >>> format_time(1500.0)
    '1.500ms'
    """
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class _Times:
    """What events and their averages have in common; the times of devices are those that the host waited for: none."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cuda_time = cuda_time_total = self_cuda_time_total = device_time = device_time_total = self_device_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
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


class FunctionEvent(_Times):
    """One operation, node or labelled block: when it ran, in which thread, and inside which other."""

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
    ) -> None:
        self.id, self.name, self.thread, self.kind, self.stack = id, name, thread, kind, list(stack)
        self.time_range = Interval(start, end)
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.input_shapes = list(input_shapes)
        self.is_async = self.is_remote = False
        self.node_id = -1
        self.flow = 0  # names a call between workers: the same for the call and for what it did there
        self.is_user_annotation = kind == "user_annotation"

    @property
    def key(self) -> str:
        """What averages are grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """Microseconds between its start and its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The same without what ran inside it; a call to another worker takes no time here."""
        return 0.0 if self.is_async else self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def __repr__(self) -> str:
        start, end = self.time_range
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={start:.3f} "
            f"end_us={end:.3f} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread}>"
        )


class FunctionEventAvg(_Times):
    """All events of one name together."""

    def __init__(self, key: str) -> None:
        self.key, self.count, self.stack = key, 0, []  # type: ignore[var-annotated]
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.input_shapes: list[Any] = []
        self.is_async = self.is_remote = self.is_user_annotation = False
        self.node_id = -1
        self.flow = 0  # names a call between workers: the same for the call and for what it did there

    def add(self, event: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Count one more event in."""
        self.count += event.count
        self.self_cpu_time_total += event.self_cpu_time_total
        if not _inside_its_own(event):
            self.cpu_time_total += event.cpu_time_total
        self.stack = self.stack or event.stack
        self.is_user_annotation |= event.is_user_annotation
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


def _inside_its_own(event: Any) -> bool:
    """Whether an event of the same name surrounds it, whose time includes this one's."""
    above = getattr(event, "cpu_parent", None)
    while above is not None:
        if above.name == event.name:
            return True
        above = above.cpu_parent
    return False


class EventList(list):
    """Events, or averages of them, in order."""

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds spent in all events, each moment counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """One average per name (and input shapes, and stack, if that many of its frames are to count)."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            key = (event.key, shapes, *event.stack[:group_by_stack_n])
            average = found.setdefault(key, FunctionEventAvg(event.key)).add(event)
            if group_by_input_shape:
                average.input_shapes = event.input_shapes
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events together."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for chrome://tracing or Perfetto."""
        import json
        import os

        pid = os.getpid()
        events: list[dict[str, Any]] = [
            {
                "ph": "X",
                "cat": event.kind,
                "name": event.name,
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
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write one line per stack, for flame graphs."""
        with open(path, "w") as file:
            for event in self:
                if event.stack:
                    frames = ";".join(frame.replace(";", ":").replace(" ", "_") for frame in reversed(event.stack))
                    file.write(f"{frames} {int(getattr(event, metric))}\n")

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table, most of the `sort_by` column first."""
        if sort_by is not None and sort_by not in _SORT_KEYS:
            raise AttributeError(f"cannot sort events by {sort_by!r}; the columns are {', '.join(_SORT_KEYS)}")
        rows = [event for event in self if not top_level_events_only or getattr(event, "cpu_parent", None) is None]
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        return _table(
            rows if row_limit == -1 else rows[:row_limit], self.self_cpu_time_total, max_name_column_width, header
        )


_COLUMNS = ("Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")


def _table(rows: Sequence[Any], total: float, width: int, header: str | None) -> str:
    if not rows:
        return ""
    names = [each.key if len(each.key) < width else each.key[: width - 3] + "..." for each in rows]
    first = max(4, *map(len, names)) + 2
    line = "-" * first + "  " + "  ".join(["-" * 12] * len(_COLUMNS)) + "  "
    lines = [line, f"{'Name':>{first}}  " + "  ".join(f"{column:>12}" for column in _COLUMNS) + "  ", line]
    lines += [
        f"{name:>{first}}  " + "  ".join(f"{cell:>12}" for cell in _cells(each, total)) + "  "
        for name, each in zip(names, rows)
    ]
    if any(each.input_shapes for each in rows):
        shapes = ["", "Input Shapes", "", *(str(each.input_shapes) for each in rows)]
        shapes[0] = shapes[2] = "-" * max(map(len, shapes))
        lines = [row + f"{cell:>{len(shapes[0])}}  " for row, cell in zip(lines, shapes)]
        line = lines[0]
    lines += [line, f"Self CPU time total: {format_time(total)}", ""]
    if header is not None:
        lines = ["=" * len(line), header, *lines]
    return "\n".join(lines)


def _cells(each: Any, total: float) -> tuple[str, ...]:
    def share(us: float) -> str:
        return f"{100 * us / total if total else 0:.2f}%"

    return (
        share(each.self_cpu_time_total),
        each.self_cpu_time_total_str,
        share(each.cpu_time_total),
        each.cpu_time_total_str,
        each.cpu_time_str,
        str(each.count),
    )


def flows(events: Iterable[FunctionEvent]) -> list[dict[str, Any]]:
    """Arrows of a trace, from each call to the first thing that it did on the other worker; and the workers' names."""
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
    """Order events by their start, and hang each below the one of its thread that surrounds it."""
    ordered = EventList(sorted(events, key=lambda event: (event.time_range.start, -event.time_range.end)))
    open_ones: dict[int, list[FunctionEvent]] = {}
    for event in ordered:
        stack = open_ones.setdefault(event.thread, [])
        if event.is_async:  # it may end after what surrounds its beginning
            continue
        while stack and stack[-1].time_range.end < event.time_range.end:
            stack.pop()
        if stack:
            event.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(event)
        stack.append(event)
    return ordered


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "format_time", "nest"]
