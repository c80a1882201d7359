"""FileCheck: what a text must contain, in which order, how often, and what must not be in between."""

from __future__ import annotations

from typing import Any


class FileCheck:
    """A list of checks that `run` makes on a text, each from where the one before ended.

    >>> from mpigrad.testing import FileCheck
    >>> FileCheck().check("aten::mul").check_not("aten::div").check("aten::add").run("aten::mul, then aten::add")
    """

    def __init__(self) -> None:
        self._checks: list[tuple[str, str, int, bool]] = []

    def _add(self, kind: str, text: str, count: int = 1, exactly: bool = False) -> FileCheck:
        self._checks.append((kind, text, count, exactly))
        return self

    def check(self, text: str) -> FileCheck:
        """The text comes next, somewhere."""
        return self._add("check", text)

    def check_not(self, text: str) -> FileCheck:
        """The text does not come before what is checked next (or before the end)."""
        return self._add("check_not", text)

    def check_same(self, text: str) -> FileCheck:
        """The text comes next, on the same line."""
        return self._add("check_same", text)

    def check_next(self, text: str) -> FileCheck:
        """The text comes on the next line."""
        return self._add("check_next", text)

    def check_count(self, text: str, count: int, exactly: bool = False) -> FileCheck:
        """The text comes `count` times; with `exactly`, not once more until what is checked next."""
        if count < 0:
            raise ValueError(f"count must not be negative, got {count}")
        return self._add("check_count", text, count, exactly)

    def check_dag(self, text: str) -> FileCheck:
        """Neighbouring `check_dag` texts come in any order."""
        return self._add("check_dag", text)

    def run(self, text: Any) -> None:
        """Make the checks; RuntimeError with the text around the failure if one fails."""
        text = str(text)
        place, absent, number = 0, [], 0
        while number < len(self._checks):
            kind, wanted, count, exactly = self._checks[number]
            if kind == "check_not":
                absent.append(wanted)
                number += 1
                continue
            if kind == "check_dag":
                group = [each[1] for each in self._group(number)]
                start, end = self._any_order(text, place, group)
                number += len(group) - 1
            else:
                start, end = self._find(text, place, kind, wanted, count)
            _refuse(text, place, start, absent)
            absent = [wanted] if exactly else []
            place = end
            number += 1
        _refuse(text, place, len(text), absent)

    def _group(self, number: int) -> list[tuple[str, str, int, bool]]:
        end = number
        while end < len(self._checks) and self._checks[end][0] == "check_dag":
            end += 1
        return self._checks[number:end]

    def _any_order(self, text: str, place: int, wanted: list[str]) -> tuple[int, int]:
        spans = [
            (at, at + len(each)) for each in wanted for at in [_position(text, place, len(text), each, "check_dag")]
        ]
        return min(span[0] for span in spans), max(span[1] for span in spans)

    def _find(self, text: str, place: int, kind: str, wanted: str, count: int) -> tuple[int, int]:
        low, high = place, len(text)
        if kind == "check_same":
            high = _line_end(text, place)
        elif kind == "check_next":
            low = min(_line_end(text, place) + 1, len(text))
            high = _line_end(text, low)
        start = end = place
        for turn in range(count):
            at = _position(text, low, high, wanted, kind)
            start = at if turn == 0 else start
            low = end = at + len(wanted)
        return start, end


def _line_end(text: str, place: int) -> int:
    at = text.find("\n", place)
    return len(text) if at < 0 else at


def _position(text: str, low: int, high: int, wanted: str, kind: str) -> int:
    at = text.find(wanted, low, high)
    if at < 0:
        raise RuntimeError(
            f'Expected to find "{wanted}" but did not find it\nSearched string:\n{_around(text, low)}\nFrom {kind}: {wanted}'
        )
    return at


def _refuse(text: str, low: int, high: int, absent: list[str]) -> None:
    for each in absent:
        at = text.find(each, low, high)
        if at >= 0:
            raise RuntimeError(
                f'Expected to not find "{each}" but found it\n{_around(text, at)}\nFrom CHECK-NOT: {each}'
            )


def _around(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    return text[start : start + 2000] + "\n" + " " * (place - start) + "~ <--- HERE"
