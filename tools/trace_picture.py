"""Draw a trace of all workers as SVG: mpiexec -n 3 python tools/trace_picture.py docs/pictures/trace.svg

The trace is of one step of a program that makes a pass with held gradients; it is drawn as Perfetto would show it: time from
left to right, a lane for each worker, arrows for messages of the pass. Threads of a worker share its lane.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from mpi4py.MPI import COMM_WORLD as world

import mpigrad
import mpigrad.distributed.autograd as dist_autograd
import mpigrad.distributed.rpc as rpc
import mpigrad.profiler

WIDTH, MARGIN, ROW, LANE_GAP = 940, 66, 19, 30
COLOURS = {"rpc": "#cfe0f5", "serve": "#d8ecd2", "send": "#8fb3dc", "answer": "#b7cfe8", "cpu_op": "#f6cf8f",
           "backward": "#f3d9d6", "user_annotation": "#ececec"}  # fmt: skip
PHASE, ARROW = "#e6a8a2", "#c0392b"

Json = dict[str, Any]


def double(a: mpigrad.Tensor) -> mpigrad.Tensor:
    return a * 2


def step(x: mpigrad.Tensor) -> None:
    """Two workers use one result, so their gradients for it meet here and must wait for each other."""
    with dist_autograd.context() as context_id:
        hidden = x.exp()
        one, two = (rpc.rpc_async(to, double, args=(hidden,)) for to in ("worker1", "worker2"))
        dist_autograd.backward(context_id, [(one.wait() * two.wait()).sum()])


def depth(events: list[Json]) -> None:
    """Give each slice of a lane the first row that is free there, an enclosing one before those inside it."""
    rows: list[float] = []
    for event in sorted(events, key=lambda each: (each["ts"], -each["dur"])):
        row = next((place for place, end in enumerate(rows) if end <= event["ts"]), len(rows))
        rows[row:row + 1] = [event["ts"] + event["dur"]]
        event["row"] = row


def phases_of(events: list[Json]) -> list[Json]:
    """Begin and end of each phase as one slice."""
    ends = {event["id"]: event["ts"] for event in events if event["ph"] == "e"}
    return [{**event, "dur": ends[event["id"]] - event["ts"], "cat": "phase"} for event in events if event["ph"] == "b"]


class Drawing:
    """The lanes of all workers."""

    def __init__(self, trace: Json) -> None:
        events = trace["traceEvents"]
        shown = [event for event in events if event["ph"] == "X" and "release" not in event["name"]] + phases_of(events)
        self.lanes = {rank: [each for each in shown if each["pid"] == rank] for rank in sorted({e["pid"] for e in shown})}
        self.arrows = [event for event in events if event["ph"] in "sf"]
        self.end = max(each["ts"] + each["dur"] for each in shown)
        self.top: dict[int, int] = {}
        self.lines: list[str] = []

    def x(self, us: float) -> float:
        return round(MARGIN + us / self.end * (WIDTH - MARGIN - 10), 1)

    def slice(self, event: Json, top: int) -> None:
        x, y = self.x(event["ts"]), top + event["row"] * ROW
        width = max(1.0, self.x(event["ts"] + event["dur"]) - x)
        colour = PHASE if event["cat"] == "phase" else COLOURS.get(event["cat"], "#dddddd")
        name = escape(event["name"].removeprefix("torch::distributed::autograd::"))
        self.lines.append(f'<g><title>{name}: {event["dur"]:.0f} us</title><rect x="{x}" y="{y}" width="{width:.1f}" '
                          f'height="{ROW - 2}" fill="{colour}" stroke="#888" stroke-width="0.4"/></g>')  # fmt: skip
        if width > 24:
            letters = int(width / 6.0)
            text = name if len(name) <= letters else name[: max(1, letters - 1)] + "…"
            self.lines.append(f'<text x="{x + 3}" y="{y + ROW - 6}">{text}</text>')

    def arrow(self, left: Json, came: Json) -> None:
        (x1, y1), (x2, y2) = self.place(left), self.place(came)
        dash = ' stroke-dasharray="3 2"' if left["cat"] == "answer" else ""
        self.lines.append(f'<path d="M{x1} {y1} L{x2} {y2}" stroke="{ARROW}" stroke-width="0.8"{dash} fill="none" '
                          'marker-end="url(#tip)" opacity="0.75"/>')  # fmt: skip

    def place(self, end: Json) -> tuple[float, float]:
        """Where an arrow ends: at the innermost slice of that thread and time."""
        inside = [each for each in self.lanes[end["pid"]] if each.get("tid") == end["tid"]
                  and each["ts"] <= end["ts"] <= each["ts"] + each["dur"]]  # fmt: skip
        row = max((each["row"] for each in inside), default=0)
        return self.x(end["ts"]), self.top[end["pid"]] + row * ROW + ROW / 2

    def draw(self) -> str:
        y = 24
        for rank, events in self.lanes.items():
            depth(events)
            self.top[rank] = y
            self.lines.append(f'<text x="6" y="{y + 12}" font-weight="bold">worker{rank}</text>')
            for event in events:
                self.slice(event, y)
            y += (max(event["row"] for event in events) + 1) * ROW + LANE_GAP
        came = {event["id"]: event for event in self.arrows if event["ph"] == "f"}
        for event in self.arrows:
            if event["ph"] == "s" and event["pid"] != came[event["id"]]["pid"]:
                self.arrow(event, came[event["id"]])
        ticks = range(0, int(self.end) + 1, 200 if self.end < 3000 else 1000)
        axis = [f'<text x="{self.x(us)}" y="12" fill="#777">{us} us</text>' for us in ticks]
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="10.5">'
                '<defs><marker id="tip" markerWidth="6" markerHeight="6" refX="5" refY="3" orient="auto">'
                f'<path d="M0 0 L6 3 L0 6 z" fill="{ARROW}"/></marker></defs>'
                f'<rect width="{WIDTH}" height="{y}" fill="white"/>')  # fmt: skip
        return "\n".join([head, *axis, *self.lines, "</svg>\n"])


def main(path: str) -> None:
    rpc.init_rpc(f"worker{world.rank}", rank=world.rank, world_size=world.size)
    if world.rank == 0:
        x = mpigrad.ones(3, 3, requires_grad=True)
        for _ in range(50):
            step(x)
        traces = []
        for _ in range(20):  # the quickest: the machine did least else
            with mpigrad.profiler.trace_workers() as trace:
                step(x)
            traces.append(Drawing(trace.chrome))
        Path(path).write_text(min(traces, key=lambda drawing: drawing.end).draw())
    rpc.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
