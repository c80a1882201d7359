"""Classifies the callee of a call: an operator, a built-in, a function to be scripted, a special form."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from mpigrad._ops.tensor.serialize import save

from .._ir.operators import DISTRIBUTED, is_operator
from .._ir.python_builtins import builtin_name, is_math
from .._ir.types import is_named_tuple, is_script_class


def role_of(obj: Any) -> str | None:
    """How a call of an object is lowered; None if it cannot be.

    `_jit_mark` is set by decorators (`ignore`, `unused`), on scripted functions, and on functions of `mpigrad.jit` with a
    special lowering."""
    mark = getattr(obj, "_jit_mark", None)
    if mark == "script":
        return "function"
    if is_named_tuple(obj):
        return "named"
    if is_script_class(obj):
        return "class"
    if mark == "special" or obj is isinstance or obj is save or _is_distributed(obj):
        return "special"
    if builtin_name(obj) is not None:
        return "builtin"
    if is_math(obj):
        return "math"
    if is_operator(obj):
        return "operator"
    if mark in ("ignore", "unused"):
        return "ignored" if mark == "ignore" else "unused"
    if type(obj) is FunctionType and not f"{obj.__module__}.".startswith("mpigrad."):
        return "function"
    return None


def _is_distributed(obj: Any) -> bool:
    name = getattr(obj, "__name__", "")
    home = sys.modules.get(DISTRIBUTED[name]) if isinstance(name, str) and name in DISTRIBUTED else None
    return home is not None and getattr(home, name, None) is obj


def complaint(obj: Any, name: str) -> str:
    """The reason why an object cannot be called."""
    if getattr(obj, "__module__", None) == "builtins" and not isinstance(obj, type):
        return f"Python builtin {obj!r} is currently not supported in scripted code"
    if isinstance(obj, type):
        return f"the class '{obj.__name__}' cannot be made or called in scripted code"
    if isinstance(obj, ModuleType):
        return f"module '{name}' is not callable"
    return f"python value of type '{type(obj).__name__}' ('{name}') cannot be called in scripted code"
