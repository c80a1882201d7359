"""`FileCheck`: checks which strings a text contains, in which order and how often."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_LINE = re.compile(r"#\s*CHECK(?P<kind>[-A-Z]*?)(?:-(?P<count>\d+))?: \s*(?P<text>.*?)\s*$")


class _Check(NamedTuple):
    kind: str
    text: str
    times: int = 1
    exactly: bool = False

    def title(self) -> str:
        """The check as it is written in a file."""
        counted = f"-COUNT-{'EXACTLY-' if self.exactly else ''}{self.times}" if self.kind == "-COUNT" else self.kind
        return f"CHECK{counted}: {self.text}"


class FileCheck:
    """A list of checks that `run` applies to a text, such as a graph; each continues where the previous one ended.

    Methods that add a check return the object, so that they can be chained.

    >>> from mpigrad.testing import FileCheck
    >>> FileCheck().check("aten::mul").check_not("aten::div").check("aten::add").run("aten::mul, then aten::add")
    """

    def __init__(self) -> None:
        self._checks: list[_Check] = []

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append(_Check(kind, text, count, exactly))
        return self

    def check(self, text: str) -> FileCheck:
        """Require that `text` occurs after the previous match."""
        return self._add("", text)

    def check_not(self, text: str) -> FileCheck:
        """Require that `text` does not occur before the next match (or before the end)."""
        return self._add("-NOT", text)

    def check_same(self, text: str) -> FileCheck:
        """Require that `text` occurs on the same line as the previous match."""
        return self._add("-SAME", text)

    def check_next(self, text: str) -> FileCheck:
        """Require that `text` occurs on the line after that of the previous match."""
        return self._add("-NEXT", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """Require that `text` occurs at least `count` times; with `exactly`, exactly so often before the next match."""
        if count < 0:
            raise ValueError(f"count must not be negative, got {count}")
        return self._add("-COUNT", text, count, exactly)

    def check_dag(self, text: str) -> FileCheck:
        """Require that `text` occurs after the previous match; texts of consecutive calls of `check_dag` may occur in any
        order.
        """
        return self._add("-DAG", text)

    def check_regex(self, text: str) -> FileCheck:
        """Require that a match of the regular expression `text` occurs after the previous match.

        >>> from mpigrad.testing import FileCheck
        >>> FileCheck().check_regex("aten::[a-z]+_").run("%2 = aten::add_(%0, %1)")
        """
        return self._add("-REGEX", text)

    def check_source_highlighted(self, text: str) -> FileCheck:
        """Require that `text` occurs, and that the line below marks exactly this text with `~`.

        >>> from mpigrad.testing import FileCheck
        >>> FileCheck().check_source_highlighted("y.foo()").run('''
        ... return x + y.foo()
        ...            ~~~~~~~ <--- HERE
        ... ''')
        """
        return self._add("-SOURCE-HIGHLIGHTED", text)

    def run(self, *texts: Any) -> None:
        """Apply the checks to a text: `run(text)`. If one fails, a RuntimeError shows the part of the text.

        `run(checks, text)` reads the checks from lines of `checks` such as `# CHECK-NEXT: aten::add`.
        """
        if not 1 <= len(texts) <= 2:
            raise TypeError(f"run() takes a text, or checks and a text, but got {len(texts)} arguments")
        checks = _parsed(str(texts[0])) if len(texts) == 2 else self._checks
        if not checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        _run(checks, str(texts[-1]))


def _parsed(text: str) -> list[_Check]:
    made = []
    for line in text.splitlines():
        found = _LINE.search(line)
        if found is None:
            continue
        kind, count = found["kind"], found["count"]
        exactly = kind == "-COUNT-EXACTLY"
        known = kind in ("-COUNT", "-COUNT-EXACTLY") if count else kind in _KINDS and kind != "-COUNT"
        if not known:
            raise RuntimeError(f"Could not parse check at:\n{line}\nCheck for bad input.")
        made.append(_Check("-COUNT" if count else kind, found["text"], int(count or 1), exactly))
    return made


def _run(checks: list[_Check], text: str) -> None:
    place, number = 0, 0
    absent: list[_Check] = []
    while number < len(checks):
        check = checks[number]
        number += 1
        if check.kind == "-NOT":
            absent.append(check)
            continue
        if check.kind == "-DAG":
            group = [check]
            while number < len(checks) and checks[number].kind == "-DAG":
                group.append(checks[number])
                number += 1
            spans = [_first(text, place, each) for each in group]
            start, end = min(span[0] for span in spans), max(span[1] for span in spans)
        else:
            start, end = _KINDS[check.kind](text, place, check)
        _refuse(text, place, start, absent)
        absent = [_Check("-NOT", check.text)] if check.exactly else []
        place = end
    _refuse(text, place, len(text), absent)


def _first(text: str, place: int, check: _Check) -> tuple[int, int]:
    at = text.find(check.text, place)
    if at < 0:
        raise _missing(text, place, check.text, check)
    return at, at + len(check.text)


def _same(text: str, place: int, check: _Check) -> tuple[int, int]:
    span = _first(text, place, check)
    if "\n" in text[place : span[0]]:
        raise _unwanted(text, text.find("\n", place), "\\n", check)
    return span


def _next(text: str, place: int, check: _Check) -> tuple[int, int]:
    span = _first(text, place, check)
    lines = text[place : span[0]].count("\n")
    if lines == 0:
        raise _missing(text, place, "\\n", check)
    if lines > 1:
        raise _unwanted(text, text.find("\n", text.find("\n", place) + 1), "\\n", check)
    return span


def _counted(text: str, place: int, check: _Check) -> tuple[int, int]:
    spans: list[tuple[int, int]] = []
    for _ in range(check.times):
        spans.append(_first(text, spans[-1][1] if spans else place, check))
    return (spans[0][0], spans[-1][1]) if spans else (place, place)


def _matched(text: str, place: int, check: _Check) -> tuple[int, int]:
    found = re.compile(check.text).search(text, place)
    if found is None:
        raise RuntimeError(
            f'Expected to find regex "{check.text}" but did not find it\nSearched string:\n{_around(text, place)}\n'
            f"From {check.title()}"
        )
    return found.span()


def _highlighted(text: str, place: int, check: _Check) -> tuple[int, int]:
    first = start, end = _first(text, place, check)
    while start >= 0:
        line = text.rfind("\n", 0, start) + 1
        below = text.find("\n", end) + 1
        marks = text[below : text.find("\n", below) if "\n" in text[below:] else len(text)] if below else ""
        before, marked, after = marks[: start - line], marks[start - line : end - line], marks[end - line :]
        if marked == "~" * len(check.text) and not before.endswith("~") and not after.startswith("~"):
            return start, end
        start = text.find(check.text, start + 1)
        end = start + len(check.text)
    raise RuntimeError(f'Expected to find "{check.text}"highlighted but it is not.\n{_around(text, first[0])}')


def _missing(text: str, place: int, wanted: str, check: _Check) -> RuntimeError:
    return RuntimeError(
        f'Expected to find "{wanted}" but did not find it\nSearched string:\n{_around(text, place)}\nFrom {check.title()}'
    )


def _unwanted(text: str, place: int, found: str, check: _Check) -> RuntimeError:
    return RuntimeError(f'Expected to not find "{found}" but found it\n{_around(text, place)}\nFrom {check.title()}')


def _refuse(text: str, low: int, high: int, absent: list[_Check]) -> None:
    for each in absent:
        at = text.find(each.text, low, high)
        if at >= 0:
            raise _unwanted(text, at, each.text, each)


def _around(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + 2000] + "\n" + " " * (place - start) + "~ <--- HERE"


_KINDS: dict[str, Any] = {
    "": _first, "-NOT": None, "-SAME": _same, "-NEXT": _next, "-DAG": None, "-COUNT": _counted, "-REGEX": _matched,
    "-SOURCE-HIGHLIGHTED": _highlighted,
}  # fmt: skip

__all__ = ["FileCheck"]
