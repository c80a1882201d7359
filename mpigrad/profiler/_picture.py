"""A trace as a picture (SVG): time from left to right, a lane for each worker, arrows for messages, a legend.

It draws files of `trace_workers` and of `profile.export_chrome_trace`. Threads of a worker share its lane.
"""

from __future__ import annotations

import gzip
import json
from typing import Any
from xml.sax.saxutils import escape

WIDTH, RIGHT, ROW, LANE_GAP, LETTER = 940, 14, 19, 30, 6.6
COLOURS = {
    "rpc": ("#cfe0f5", "call"), "serve": ("#d8ecd2", "served for another worker"), "send": ("#8fb3dc", "message sent"),
    "answer": ("#b7cfe8", "answer received"), "cpu_op": ("#f6cf8f", "operator, node"), "backward": ("#f3d9d6", "backward"),
    "phase": ("#e6a8a2", "phase of a pass"), "user_annotation": ("#ececec", "labelled block"),
}  # fmt: skip
OTHER, ARROW = ("#dddddd", "other"), "#c0392b"
_NARROW, _MANY = 0.5, 3000  # slices narrower than this many pixels are left out if there are more than this many slices

Json = dict[str, Any]


def read_trace(path: str) -> list[Json]:
    """The events of a file in Chrome's format, compressed or not; ValueError for other files."""
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a trace: {error}") from error
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list) or not all(isinstance(each, dict) and "ph" in each for each in events):
        raise ValueError(f"{path} is not a trace: it has no list of events")
    return events


def draw_trace(events: list[Json]) -> str:
    """Draw a trace; returns the SVG text.

    >>> from mpigrad.profiler._picture import draw_trace
    >>> draw_trace([{"ph": "X", "name": "step", "cat": "rpc", "pid": 0, "tid": 0, "ts": 0, "dur": 5}]).count("step")
    2
    """
    return _Drawing(events).draw()


def _phases(events: list[Json]) -> list[Json]:
    """Join the begin and the end event of each phase to one slice."""
    ends = {event.get("id"): event["ts"] for event in events if event["ph"] == "e"}
    begun = [event for event in events if event["ph"] == "b" and event.get("id") in ends]
    return [{**event, "dur": ends[event.get("id")] - event["ts"], "cat": "phase"} for event in begun]


def _give_rows(events: list[Json]) -> int:
    """Assign to each slice of a lane its first free row, outer slices before nested ones; returns the number of rows."""
    rows: list[float] = []
    for event in sorted(events, key=lambda each: (each["ts"], -each["dur"])):
        row = next((place for place, end in enumerate(rows) if end <= event["ts"]), len(rows))
        rows[row : row + 1] = [event["ts"] + event["dur"]]
        event["row"] = row
    return len(rows)


def _step(end: float) -> float:
    """The distance of the axis marks: 1, 2 or 5 times a power of ten, so that there are 4 to 10 marks."""
    step = 1e-3
    while end / step > 10:
        step *= 2.5 if f"{step:e}".startswith("2") else 2
    return step


class _Drawing:
    """The drawing: one lane for each worker, with its slices and arrows."""

    def __init__(self, events: list[Json]) -> None:
        shown = [{**event, "dur": event.get("dur", 0)} for event in events if event["ph"] == "X"] + _phases(events)
        if not shown:
            raise ValueError("the trace has no events with a duration")
        self.start = min(each["ts"] for each in shown)
        self.end = max(max(each["ts"] + each["dur"] for each in shown) - self.start, 1e-3)
        self.names = {
            event["pid"]: str(event["args"]["name"]) for event in events
            if event["ph"] == "M" and event.get("name") == "process_name" and "pid" in event
        }  # fmt: skip
        self.margin = 14 + LETTER * max(len(self.label(each.get("pid"))) for each in shown)
        wide = [each for each in shown if self.width(each) >= _NARROW]
        self.left_out = len(shown) - len(wide) if len(shown) > _MANY else 0
        shown = wide if self.left_out else shown
        ranks = sorted({each.get("pid") for each in shown}, key=str)
        self.lanes = {rank: [each for each in shown if each.get("pid") == rank] for rank in ranks}
        self.arrows = [event for event in events if event["ph"] in ("s", "f")]
        self.top: dict[Any, int] = {}
        self.lines: list[str] = []

    def label(self, pid: Any) -> str:
        """A worker's name, or its rank if the name is not known."""
        return self.names.get(pid, f"process {pid}").rpartition(": ")[2]

    def x(self, us: float) -> float:
        return round(self.margin + (us - self.start) / self.end * (WIDTH - self.margin - RIGHT), 1)

    def width(self, event: Json) -> float:
        return self.x(event["ts"] + event["dur"]) - self.x(event["ts"])

    def slice(self, event: Json, top: int) -> None:
        x, y, width = self.x(event["ts"]), top + event["row"] * ROW, max(1.0, self.width(event))
        colour, _ = COLOURS.get(event.get("cat", ""), OTHER)
        name = str(event.get("name", "")).removeprefix("torch::distributed::autograd::")
        self.lines.append(
            f'<g><title>{escape(name)}: {event["dur"]:.0f} us</title><rect x="{x}" y="{y}" width="{width:.1f}" '
            f'height="{ROW - 2}" fill="{colour}" stroke="#888" stroke-width="0.4"/></g>'
        )
        if width > 24:
            letters = int((width - 4) / LETTER)
            text = name if len(name) <= letters else name[: max(1, letters - 1)] + "…"
            self.lines.append(f'<text x="{x + 3}" y="{y + ROW - 6}">{escape(text)}</text>')

    def arrow(self, left: Json, came: Json) -> None:
        (x1, y1), (x2, y2) = self.place(left), self.place(came)
        dash = ' stroke-dasharray="3 2"' if left.get("cat") == "answer" else ""
        self.lines.append(
            f'<path d="M{x1} {y1} L{x2} {y2}" stroke="{ARROW}" stroke-width="0.8"{dash} fill="none" '
            'marker-end="url(#tip)" opacity="0.75"/>'
        )

    def place(self, end: Json) -> tuple[float, float]:
        """The end point of an arrow: the innermost slice of its thread at its time."""
        inside = [
            each for each in self.lanes[end["pid"]]
            if each.get("tid") == end.get("tid") and each["ts"] <= end["ts"] <= each["ts"] + each["dur"]
        ]  # fmt: skip
        row = max((each["row"] for each in inside), default=0)
        return self.x(end["ts"]), self.top[end["pid"]] + row * ROW + ROW / 2

    def axis(self) -> list[str]:
        """The time axis; the label of its last mark stays inside the picture."""
        step, made = _step(self.end), []
        unit, factor = ("us", 1.0) if self.end < 1e4 else ("ms", 1e-3) if self.end < 1e7 else ("s", 1e-6)
        for place in range(int(self.end / step) + 1):
            text = f"{place * step * factor:g} {unit}"
            x = min(self.x(self.start + place * step), WIDTH - 4 - LETTER * len(text))
            made.append(f'<text x="{x:.1f}" y="12" fill="#777">{text}</text>')
        return made

    def legend(self, y: int) -> int:
        """The legend of the colours and arrows that occur; returns the y coordinate below it."""
        found = {COLOURS.get(each.get("cat", ""), OTHER) for events in self.lanes.values() for each in events}
        x = 6.0
        for colour, words in [each for each in (*COLOURS.values(), OTHER) if each in found]:
            length = 24 + LETTER * len(words)
            if x + length > WIDTH - RIGHT:
                x, y = 6.0, y + ROW
            self.lines.append(
                f'<rect x="{x:.0f}" y="{y}" width="11" height="11" fill="{colour}" stroke="#888" stroke-width="0.4"/>'
                f'<text x="{x + 16:.0f}" y="{y + 9}">{words}</text>'
            )
            x += length
        notes = ["arrows: messages; dashed: answers"] if self.arrows else []
        notes += [f"{self.left_out} slices are too short to be drawn"] if self.left_out else []
        for words in notes:
            y += ROW
            self.lines.append(f'<text x="6" y="{y + 9}">{words}</text>')
        return y + ROW

    def draw(self) -> str:
        """Draw the whole picture and return the SVG text."""
        y = 24
        for rank, events in self.lanes.items():
            rows, self.top[rank] = _give_rows(events), y
            self.lines.append(f'<text x="6" y="{y + 12}" font-weight="bold">{escape(self.label(rank))}</text>')
            for event in events:
                self.slice(event, y)
            y += rows * ROW + LANE_GAP
        came = {event.get("id"): event for event in self.arrows if event["ph"] == "f"}
        for event in self.arrows:
            end = came.get(event.get("id"))
            if event["ph"] != "s" or end is None or event["pid"] == end["pid"]:
                continue
            if event["pid"] in self.lanes and end["pid"] in self.lanes:
                self.arrow(event, end)
        y = self.legend(y)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="10.5">'
            '<defs><marker id="tip" markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto">'
            f'<path d="M0 0 L6 3 L0 6 z" fill="{ARROW}"/></marker></defs>'
            f'<rect width="{WIDTH}" height="{y}" fill="white"/>'
        )
        return "\n".join([head, *self.axis(), *self.lines, "</svg>\n"])
