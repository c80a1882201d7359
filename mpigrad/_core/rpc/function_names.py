"""Functions on the wire: by qualified name where that finds the same function again.

The name's bytes are remembered for each function, and the place to look for each name. The place, not the function: a
module attribute replaced at run time must be seen, on both sides, as pickle would see it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

_BY_NAME = (FunctionType, BuiltinFunctionType, type)
_REMEMBERED = 4096
_MISSING = object()

_names: dict[Any, tuple[Any, str, bytes]] = {}
_places: dict[bytes, tuple[Any, str]] = {}

NOT_FOUND = (
    "RPC pickler does not serialize the function code. Function code must be defined on both caller and callee modules."
)


def name_of(func: Callable[..., Any]) -> bytes | None:
    """The bytes under which every worker that has the module finds `func`; None if there are none (closures, methods
    ...).
    """
    if type(func) not in _BY_NAME:
        name = getattr(func, "_wire_name", None)  # of the function that travels in its place
        if name is not None or not getattr(func, "_travels_by_name", False):
            return name
    known = _names.get(func)
    if known is not None:
        space, name, text = known
        if space.get(name) is func:
            return text
    return _name_anew(func)


def _name_anew(func: Any) -> bytes | None:
    module, qualname = getattr(func, "__module__", None), getattr(func, "__qualname__", None)
    if not module or not qualname or "<" in qualname:
        return None
    space, name = _place(module, qualname)
    if space is None:
        return None
    found = space.get(name, _MISSING)
    if found is not func and getattr(found, "__func__", found) is not func:
        return None
    text = f"{module}:{qualname}".encode()
    if found is func:  # not a staticmethod, whose place holds a wrapper
        if len(_names) >= _REMEMBERED:
            _names.clear()
        _names[func] = (space, name, text)
    return text


def _place(module: str, qualname: str) -> tuple[Any, str]:
    holder: Any = sys.modules.get(module)
    *path, name = qualname.split(".")
    for part in path:
        holder = getattr(holder, part, None)
    return getattr(holder, "__dict__", None), name


def function_of(text: bytes) -> Callable[..., Any]:
    """The function that `name_of` named; AttributeError if this worker does not have it."""
    place = _places.get(text)
    if place is None:
        place = _places_add(text)
    found = place[0].get(place[1], _MISSING)
    if found is _MISSING:
        _places.pop(text, None)
        raise AttributeError(f"Can't get the function {text.decode(errors='replace')!r} on this worker. {NOT_FOUND}")
    return found.__func__ if type(found) is staticmethod else found


def _places_add(text: bytes) -> tuple[Any, str]:
    module, _, qualname = text.decode(errors="replace").partition(":")
    try:
        _load(module)
    except ImportError as error:
        raise AttributeError(
            f"Can't import {module!r} to get the function {qualname!r}: {error}. {NOT_FOUND}"
        ) from error
    space, name = _place(module, qualname)
    if space is None:
        raise AttributeError(f"Can't get the function {qualname!r} on the module {module!r}. {NOT_FOUND}")
    if len(_places) >= _REMEMBERED:
        _places.clear()
    _places[text] = (space, name)
    return _places[text]


def _load(module: str) -> None:
    """Import a module after its packages, from the outermost on: see `PACKAGES` in `_world/new_agent.py` for the reason."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        importlib.import_module(".".join(parts[:count]))


def check_call(func: Any, args: Any, kwargs: Any) -> None:
    """Have a scripted function refuse arguments that do not fit, before they travel. Such functions are bound methods."""
    check = getattr(func, "_check_call", None)
    if check is not None:
        check(args or (), kwargs or {})


def is_library(text: bytes) -> bool:
    """Whether a name is that of an operator of mpigrad, which cannot block."""
    return text[:12] == b"mpigrad._ops"


def label(func: Any) -> str:
    """A function's name for messages."""
    return getattr(func, "__qualname__", None) or repr(func)
