"""Tables of events with PyTorch's columns; columns without any content are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_SIZES = (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024))
_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
_WIDTH = 12


def format_time(us: float, unit: str | None = None) -> str:
    """A time in microseconds as text, in a suitable unit or in `unit`: "s", "ms" or "us".

    >>> format_time(1500.0), format_time(1500.0, "us")
    ('1.500ms', '1500.000us')
    """
    unit = unit or ("s" if us >= 1e6 else "ms" if us >= 1e3 else "us")
    return f"{us / _UNITS[unit]:.3f}{unit}"


def format_memory(size: int) -> str:
    """A number of bytes as text, in a suitable unit.

    >>> format_memory(400), format_memory(-3 * 1024 * 1024)
    ('400 B', '-3.00 MB')
    """
    for unit, bytes_ in _SIZES:
        if abs(size) >= bytes_:
            return f"{size / bytes_:.2f} {unit}"
    return f"{size} B"


def _share(us: float, total: float) -> str:
    if total == 0:
        return "NaN" if us else "0.00%"
    return f"{100 * us / total:.2f}%"


class Column:
    """A column: heading, width and one cell per event."""

    def __init__(self, heading: str, cells: list[str], width: int = _WIDTH, left: bool = False) -> None:
        self.heading, self.cells, self.width, self.side = heading, cells, width, "<" if left else ">"

    def line(self, text: str) -> str:
        return f"{text:{self.side}{self.width}}  "


def _shortened(text: str, width: int | None) -> str:
    return text if width is None or len(text) < width - 3 else text[: width - 3] + "..."


def _width(texts: list[str], most: int | None) -> int:
    width = max(map(len, texts)) + 4
    return width if most is None else min(width, most)


def _names(rows: Sequence[Any], most: int | None) -> Column:
    return Column("Name", [_shortened(each.key, most) for each in rows], _width([each.key for each in rows], most))


def _times(rows: Sequence[Any], total: float, unit: str | None) -> list[Column]:
    def column(heading: str, times: list[float]) -> Column:
        return Column(heading, [format_time(each, unit) for each in times])

    own, whole = [each.self_cpu_time_total for each in rows], [each.cpu_time_total for each in rows]
    return [
        Column("Self CPU %", [_share(each, total) for each in own]),
        column("Self CPU", own),
        Column("CPU total %", ["0" if each.is_async else _share(each.cpu_time_total, total) for each in rows]),
        column("CPU total", whole),
        column("CPU time avg", [each.cpu_time for each in rows]),
    ]


def _memory(rows: Sequence[Any]) -> list[Column]:
    return [
        Column("CPU Mem", [format_memory(each.cpu_memory_usage) for each in rows]),
        Column("Self CPU Mem", [format_memory(each.self_cpu_memory_usage) for each in rows]),
    ]


def _shapes(rows: Sequence[Any], most: int | None) -> Column:
    texts = [str(each.input_shapes) for each in rows]
    width = _width(texts, most)
    return Column("Input Shapes", [text[:width] for text in texts], max(width, _WIDTH))


def _flops(rows: Sequence[Any]) -> Column:
    power = min(len(str(min(each.flops for each in rows if each.flops > 0))) - 1, 17) // 3
    cells = [f"{each.flops / 1000**power:.3f}" if each.flops > 0 else "--" for each in rows]
    return Column(f"Total {_FLOPS[power]}", cells)


def _source(rows: Sequence[Any], most: int | None) -> tuple[int, list[list[str]]]:
    """The width of the column of stacks and each event's lines; long paths are cut at the beginning."""
    width = _width([frame for each in rows for frame in each.stack], most)
    return width, [["..." + text[-width + 3 :] if len(text) > width else text for text in each.stack] for each in rows]


def table(
    rows: Sequence[Any],
    total: float,
    *,
    header: str | None,
    name_width: int | None,
    source_width: int | None,
    shapes_width: int | None,
    top_level: bool,
    memory: bool,
    unit: str | None,
) -> str:
    """Format averages or events as a table, one row each; percentages are relative to `total`, a time in
    microseconds.
    """
    if not rows:
        return ""
    columns = [_names(rows, name_width), *_times(rows, total, unit), *(_memory(rows) if memory else ())]
    columns.append(Column("# of Calls", [str(each.count) for each in rows]))
    if any(each.node_id != -1 for each in rows):
        columns.append(Column("Node ID", [str(each.node_id) for each in rows]))
    if any(each.input_shapes for each in rows):
        columns.append(_shapes(rows, shapes_width))
    if any(each.flops > 0 for each in rows):
        columns.append(_flops(rows))
    sources: list[list[str]] = [[] for _ in rows]
    if any(each.stack for each in rows):
        width, sources = _source(rows, source_width)
        columns.append(Column("Source Location", [lines[0] if lines else "" for lines in sources], width, left=True))
    rule = "".join("-" * column.width + "  " for column in columns)
    lines = [rule, "".join(column.line(column.heading) for column in columns), rule]
    if top_level:
        lines = ["=" * (len(rule) - 2), "This report only display top-level ops statistics", *lines]
    if header is not None:
        lines = ["=" * (len(rule) - 2), header, *lines]
    before = "".join(column.line("") for column in columns[:-1])
    for place, source in enumerate(sources):
        lines.append("".join(column.line(column.cells[place]) for column in columns))
        lines += [before + columns[-1].line(frame) for frame in source[1:]]
    return "\n".join([*lines, rule, f"Self CPU time total: {format_time(total, unit)}", ""])
