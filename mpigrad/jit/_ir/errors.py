"""Errors of scripting, with the file, the line and an excerpt of the source."""

from __future__ import annotations

import ast
from typing import Any

_BEFORE, _AFTER = 3, 2  # lines of source shown around the one at fault


class Source:
    """The text of one function, with its name, file and first line."""

    __slots__ = ("column", "file", "first", "lines", "name")

    def __init__(self, file: str, first: int, text: str, name: str, column: int = 0) -> None:
        self.file, self.first, self.lines, self.name, self.column = file, first, text.splitlines(), name, column

    def line(self, node: Any) -> int:
        """The line in the file of a node of the parsed text."""
        return self.first + getattr(node, "lineno", 1) - 1

    def where(self, node: Any) -> tuple[str, int, int]:
        """File, line and column of a node."""
        return self.file, self.line(node), getattr(node, "col_offset", 0) + self.column

    def excerpt(self, line: int, start: int = 0, width: int = 1) -> str:
        """The source around a line of the file, with a mark below the place."""
        at = line - self.first
        shown = []
        for number in sorted({0, *range(max(0, at - _BEFORE), min(len(self.lines), at + _AFTER + 1))}):
            shown.append(self.lines[number])
            if number == at:
                shown.append(" " * start + "~" * max(1, width) + " <--- HERE")
        return "\n".join(shown)


class Error(RuntimeError):
    """Raised for a `raise` inside scripted code: PyTorch's `torch.jit.Error`, and a RuntimeError."""


class FrontendError(Exception):
    """Raised if source code cannot be scripted; the message has the function, file and line."""

    def __init__(self, source: Source | str, node: Any = None, message: str = "") -> None:
        text = source if isinstance(source, str) else place(source, node, message)
        super().__init__(text)
        self.msg = message or text


class NotSupportedError(FrontendError):
    """Raised if source code uses a feature of Python that scripting does not support; the message has the file and
    line.
    """


class UnsupportedNodeError(NotSupportedError):
    """Raised for a kind of statement or expression that scripting does not support."""


def place(source: Source, node: Any, message: str) -> str:
    """The message, followed by the file, the line and an excerpt of the source at a node of the syntax tree."""
    start = getattr(node, "col_offset", 0)
    line = source.line(node)
    last = getattr(node, "end_lineno", None)
    end = getattr(node, "end_col_offset", start + 1) if last == getattr(node, "lineno", 1) else start + 1
    return f'{message}:\n  File "{source.file}", line {line}, in {source.name}\n{source.excerpt(line, start, end - start)}\n'


def script_error(source: Source, node: ast.AST, message: str) -> RuntimeError:
    """PyTorch's error for programs that parse but cannot be compiled."""
    return RuntimeError("\n" + place(source, node, message))
