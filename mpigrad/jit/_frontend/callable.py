"""What users call: Python's own bound methods, which the interpreter calls without a detour through C and `__call__`.

`jit.script(f)` gives the entry of a `ScriptFunction` bound to its `Anchor`, a method of a scripted module the entry bound to
the module. Attributes of a bound method are those of its function, so `fn.graph` and its like are kept there. The code of an
entry is compiled at the first call, and then put in the place of the code that asked for it.
"""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .function import ScriptFunction


class Anchor:
    """What the callable of a scripted function is bound to: the way back to it, also for pickle, which asks for the
    callable by the function's name."""

    __slots__ = ("_script",)

    def __init__(self, script: ScriptFunction) -> None:
        self._script = script

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._script.call

    def __reduce__(self) -> Any:
        return anchor, (self._script.qualified_name,)

    def __deepcopy__(self, memo: Any) -> Anchor:
        return self

    def __repr__(self) -> str:
        return repr(self._script)


def anchor(qualified_name: str) -> Anchor:
    """The anchor of the scripted function that this process knows by a name."""
    from .function import find

    found: Any = find(qualified_name).call.__self__
    return found


def is_script(obj: Any) -> bool:
    """Whether something is the callable of a scripted function."""
    return type(obj) is MethodType and type(obj.__self__) is Anchor


# `_start` is among the names of every entry.
def _first(self, *args, **kwargs):  # type: ignore[no-untyped-def]
    return _start(self, args, kwargs)  # type: ignore[name-defined]  # noqa: F821


def new_entry(script: ScriptFunction, original: Any) -> FunctionType:
    """A function that compiles itself when it is called, with the name and the description of the one that was scripted."""
    made = FunctionType(_first.__code__, script.space, script.name)
    if original is not None:
        made.__module__, made.__qualname__, made.__doc__ = original.__module__, original.__qualname__, original.__doc__
        made.__signature__ = _signature(script, original)  # type: ignore[attr-defined]
    made.__dict__.update(script.shown())
    return made


def _signature(script: ScriptFunction, original: Any) -> inspect.Signature:
    """What `inspect` shows of an entry: the parameters of the original, after the one that is bound."""
    found = inspect.signature(original)
    if len(script.graph.inputs) > len(script._schema.arguments):
        return found  # a method: the module is among them
    bound = inspect.Parameter("_".join(("", *found.parameters)) or "_", inspect.Parameter.POSITIONAL_ONLY)  # no other's name
    return found.replace(parameters=[bound, *found.parameters.values()])


def replace_code(entry: FunctionType, compiled: FunctionType) -> None:
    """Let an entry run what was compiled for it. Threads see the code last, when what belongs to it is there."""
    entry.__defaults__ = compiled.__defaults__
    entry.__code__ = compiled.__code__
