"""Errors that scripted code raises, with a traceback through its source."""

from __future__ import annotations

from typing import Any

from .._ir.errors import Error

# id of compiled code -> the code, its scripted function, and for each line its position in the source. By id, because equal code
# objects of two functions would be the same key.
_by_code: dict[int, tuple[Any, Any, list[Any]]] = {}
_HEAD = "The following operation failed in the mpigrad.jit interpreter.\nTraceback of scripted code (most recent call last):\n"
_REBUILT = (RuntimeError, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, AssertionError, NotImplementedError,
            AttributeError, Error)  # fmt: skip


def register_code(code: Any, function: Any, places: list[Any]) -> None:
    """Register the scripted function of compiled code, and the source position of each line."""
    _by_code[id(code)] = (code, function, places)


def with_script_traceback(error: Exception) -> Exception:
    """The error with the traceback of scripted code in its message; unchanged if its class cannot be created from a text."""
    text = str(error)
    if type(error) not in _REBUILT or text.startswith(_HEAD):
        return error
    frames = []
    trace = error.__traceback__
    while trace is not None:
        found = _by_code.get(id(trace.tb_frame.f_code))
        if found is not None and found[1]._source is not None:
            frames.append(_frame(*found[1:], trace.tb_lineno))
        trace = trace.tb_next
    if not any(frames):
        return error  # an error about the arguments: no scripted code has run
    last = "" if type(error) is Error else f"{type(error).__name__}: "
    made = type(error)(f"{_HEAD}{''.join(each for each in frames if each)}{last}{text}\n")
    made.__cause__ = error
    return made


def _frame(function: Any, places: list[Any], line: int) -> str:
    source = function._source
    where = next((each for each in (places[line - 1 :: -1] if line <= len(places) else places[::-1]) if each), None)
    if where is None or source is None:
        return ""
    file, number, column = where
    return f'  File "{file}", line {number}, in {function.name}\n{source.excerpt(number, column)}\n'
