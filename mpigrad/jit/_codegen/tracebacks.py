"""Errors of running scripts, with the places in scripted code that they went through."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._ir.errors import Error

if TYPE_CHECKING:
    from .._frontend.function import ScriptFunction

# By the id of compiled code (equal code of two functions is one key for dicts): the code, its function, the places of its lines
_by_code: dict[int, tuple[Any, ScriptFunction, list[Any]]] = {}
_HEAD = "The following operation failed in the mpigrad.jit interpreter.\nTraceback of scripted code (most recent call last):\n"
_REBUILT = (RuntimeError, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError, AssertionError, NotImplementedError,
            AttributeError, Error)  # fmt: skip


def remember(code: Any, function: ScriptFunction, places: list[Any]) -> None:
    """Know the places of a function's compiled code."""
    _by_code[id(code)] = (code, function, places)


def explained(error: Exception) -> Exception:
    """The error with the places in scripted code that it went through; of the same type where that can be built."""
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
        return error  # about the arguments: nothing has run
    last = "" if type(error) is Error else f"{type(error).__name__}: "
    made = type(error)(f"{_HEAD}{''.join(each for each in frames if each)}{last}{text}\n")
    made.__cause__ = error
    return made


def _frame(function: ScriptFunction, places: list[Any], line: int) -> str:
    source = function._source
    where = next((each for each in (places[line - 1 :: -1] if line <= len(places) else places[::-1]) if each), None)
    if where is None or source is None:
        return ""
    file, number, column = where
    return f'  File "{file}", line {number}, in {function.name}\n{source.excerpt(number, column)}\n'
