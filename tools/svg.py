"""Drawings as SVG: messages between workers (`Sequence`), and activities of threads (`Lanes`)."""

from __future__ import annotations

from collections.abc import Sequence as Several
from xml.sax.saxutils import escape

INK, PALE, LINE, TRAVEL = "#243b53", "#f0f4f8", "#9aa5b1", "#ba2525"
LETTER, ROW, TOP = 6.1, 34, 44


class Page:
    """An SVG drawing on white; its size adapts to its content."""

    def __init__(self, width: int) -> None:
        self.width, self.height, self.back, self.lines = width, 0, list[str](), list[str]()

    def text(self, x: float, y: float, words: str, *, where: str = "middle", bold: bool = False, colour: str = INK) -> None:
        weight = ' font-weight="bold"' if bold else ""
        self.lines.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{where}" fill="{colour}"{weight}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, colour: str = PALE) -> None:
        size = f'width="{width:g}" height="{height:g}"'
        self.lines.append(f'<rect x="{x:g}" y="{y:g}" {size} rx="4" fill="{colour}" stroke="{LINE}"/>')

    def arrow(self, x1: float, x2: float, y: float, dashed: bool = False) -> None:
        dash = ' stroke-dasharray="5 3"' if dashed else ""
        self.lines.append(f'<path d="M{x1:g} {y:g} H{x2:g}" stroke="{TRAVEL}" stroke-width="1.4"{dash} marker-end="url(#tip)"/>')

    def svg(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" font-family="Helvetica, Arial, '
            f'sans-serif" font-size="11.5"><defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="3.5" '
            f'orient="auto"><path d="M0 0 L7 3.5 L0 7 z" fill="{TRAVEL}"/></marker></defs>'
            f'<rect width="{self.width}" height="{self.height}" fill="white"/>'
        )
        return "\n".join([head, *self.back, *self.lines, "</svg>\n"])


class Sequence(Page):
    """Workers side by side, with time downwards: `at` labels a worker, `send` draws an arrow, `also` stays in the same row."""

    def __init__(self, workers: Several[str], gap: int = 300, margin: int = 120) -> None:
        super().__init__(2 * margin + gap * (len(workers) - 1))
        self._x, self._row, self._names = [margin + gap * place for place in range(len(workers))], -1, workers

    @property
    def _y(self) -> int:
        return TOP + self._row * ROW

    def at(self, worker: int, words: str, *, also: bool = False) -> None:
        self._row += not also
        width = len(words) * LETTER + 14
        self.box(self._x[worker] - width / 2, self._y, width, 22)
        self.text(self._x[worker], self._y + 15, words)

    def send(self, start: int, end: int, words: str, *, dashed: bool = False, also: bool = False) -> None:
        self._row += not also
        x1, x2 = self._x[start], self._x[end]
        way = 1 if x2 > x1 else -1
        self.arrow(x1 + 4 * way, x2 - 3 * way, self._y + 18, dashed)
        next_to_start = self._x[start + way]  # the middle of a longer arrow may lie on a worker's line
        self.text((x1 + next_to_start) / 2, self._y + 13, words, colour=TRAVEL)

    def band(self, words: str, rows: int, colour: str) -> None:
        """Colour the next rows, with a title at the left."""
        y = TOP + (self._row + 1) * ROW - 5
        self.back.append(f'<rect x="4" y="{y}" width="{self.width - 8}" height="{rows * ROW - 2}" fill="{colour}" rx="4"/>')
        self.text(10, y + 14, words, where="start", bold=True)

    def svg(self) -> str:
        self.height = TOP + (self._row + 1) * ROW + 4
        for x, name in zip(self._x, self._names):
            self.text(x, 20, name, bold=True)
            self.back.append(f'<path d="M{x} 28 V{self.height - 6}" stroke="{LINE}" stroke-dasharray="2 3"/>')
        return super().svg()


class Lanes(Page):
    """Threads below each other, time to the right."""

    COLOURS = {"poll": "#d9e8fb", "run": "#dff5e1", "look": "#ffe3d3", "sleep": "white"}

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self._top = 24

    def lane(self, name: str, pieces: Several[tuple[float, float, str, str]]) -> None:
        """Add a thread; pieces are (start, end, kind, label), in hundredths of the width."""
        scale = (self.width - 90) / 100
        self.text(8, self._top + 17, name, where="start", bold=True)
        for start, end, kind, words in pieces:
            self.box(80 + start * scale, self._top, (end - start) * scale - 2, 24, self.COLOURS[kind])
            self.text(80 + (start + end) / 2 * scale, self._top + 16, words)
        self._top += 32
        self.height = self._top + 4

    def event(self, at: float, words: str, lanes: int) -> None:
        """Draw a dashed line through the following lanes, with a label at its top."""
        x = 80 + at * (self.width - 90) / 100
        self.text(x, self._top - 6, words, colour=TRAVEL)
        self.back.append(f'<path d="M{x:g} {self._top - 2} v{lanes * 32 - 4}" stroke="{TRAVEL}" stroke-dasharray="3 3"/>')
