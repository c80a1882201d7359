"""The classes and functions that `load` accepts in untrusted files, and how users allow more."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from typing import Any

from .file_names import moved, name_at, named

_SAFE = {
    "builtins": {
        "bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "range", "set", "slice", "str",
        "tuple",
    },
    "collections": {"OrderedDict", "Counter", "defaultdict", "deque"},
    "datetime": {"datetime", "date", "timedelta"},
}  # fmt: skip
_allowed: dict[tuple[str, str], Any] = {}


def _key(each: Any) -> tuple[tuple[str, str], Any]:
    if isinstance(each, tuple):
        value, path = each
        module, _, name = path.rpartition(".")
        return (module, name), value
    return (each.__module__, each.__qualname__), each


def is_allowed(thing: Any) -> bool:
    """Whether the user allowed this class or function."""
    return any(each is thing for each in _allowed.values())


def find_safe(module: str, name: str) -> Any:
    """The class or function of that name if it is safe or was allowed; otherwise an error that says how to allow it."""
    module = moved(module)
    known = name_at(module, name)
    if known is not None:
        return named(known)
    allowed = _allowed.get((module, name))
    if allowed is not None:
        return allowed
    if name in _SAFE.get(module, ()):
        return getattr(importlib.import_module(module), name)
    full = f"{module}.{name}"
    raise pickle.UnpicklingError(
        "Weights only load failed. This file can still be loaded, if you trust its source: with "
        "weights_only=False, which "
        f"can run any code that the file names, or by allowing what it needs. Unsupported global: GLOBAL {full} "
        "was not an "
        f"allowed global by default. Please use `mpigrad.serialization.add_safe_globals([{full}])` or the "
        f"`mpigrad.serialization.safe_globals([{full}])` context manager to allowlist this global if you trust this "
        "class/function."
    )


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow `load` to create objects of these classes (or call these functions), in this process from now on.

    A pair of a class and a text allows the class under the full name that files have for it, such as
    "package.module.Class".
    """
    _allowed.update(_key(each) for each in safe_globals)


def get_safe_globals() -> list[Any]:
    """The list of classes and functions that `add_safe_globals` has allowed."""
    return list(_allowed.values())


def clear_safe_globals() -> None:
    """Withdraw all permissions given by `add_safe_globals`."""
    _allowed.clear()


class safe_globals:
    """A context manager in which `load` may create objects of these classes; see `add_safe_globals`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self._added = safe_globals
        self._before: dict[tuple[str, str], Any] = {}

    def __enter__(self) -> None:
        self._before = dict(_allowed)
        add_safe_globals(self._added)

    def __exit__(self, *error: object) -> None:
        _allowed.clear()
        _allowed.update(self._before)
