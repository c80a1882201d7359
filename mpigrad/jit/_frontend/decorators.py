"""Marks on functions (`ignore`, `unused`, `export`) and the functions that mean something only inside scripts."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

from .._ir.convert import NO, convert
from .._ir.errors import NotSupportedError
from .._ir.types import from_annotation


def _mark(name: str) -> Callable[..., Any]:
    def decorate(function: Any = None, **kwargs: Any) -> Any:
        if not callable(function):
            return lambda real: _marked(real, name)
        return _marked(function, name)

    return decorate


def _marked(function: Any, name: str) -> Any:
    if isinstance_(function, property):
        raise TypeError(f"@mpigrad.jit.{name} is for functions and methods, not properties")
    function._jit_mark = name
    return function


def isinstance_(obj: Any, cls: Any) -> bool:
    """Python's own."""
    return builtins.isinstance(obj, cls)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave a function to Python: scripted code calls it, and its body is not compiled. Its annotations count.

    >>> import mpigrad
    >>> @mpigrad.jit.ignore
    ... def log(x: mpigrad.Tensor) -> None:
    ...     print(x.sum())
    """
    return _mark("unused" if drop is True or kwargs.get("drop_on_export") else "ignore")(
        drop if callable(drop) else None
    )


def unused(fn: Any) -> Any:
    """Mark a function that scripted code must never reach: compiling skips it, calling it raises.

    >>> import mpigrad
    >>> @mpigrad.jit.unused
    ... def debug(x: mpigrad.Tensor) -> mpigrad.Tensor:
    ...     return x
    """
    return _mark("unused")(fn)


def export(fn: Any) -> Any:
    """Mark a method that a scripted module keeps although its forward does not call it.

    >>> import mpigrad
    >>> class Net(mpigrad.nn.Module):
    ...     @mpigrad.jit.export
    ...     def twice(self, x):
    ...         return x + x
    >>> mpigrad.jit.script(Net()) is not None  # doctest: +SKIP
    True
    """
    return _mark("export")(fn)


def annotate(the_type: Any, the_value: Any) -> Any:
    """Give a value a type inside scripted code; outside, it is the value itself.

    >>> import mpigrad
    >>> mpigrad.jit.annotate(int, 3)
    3
    """
    return the_value


def is_scripting() -> bool:
    """Whether this runs as scripted code: False in Python, True (a constant) in scripts.

    >>> import mpigrad
    >>> mpigrad.jit.is_scripting()
    False
    """
    return False


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Refused: a trace would keep what one run happened to do; `jit.script` keeps the whole function.

    >>> import mpigrad
    >>> mpigrad.jit.trace(mpigrad.sin, mpigrad.ones(1))
    Traceback (most recent call last):
    mpigrad.jit._ir.errors.NotSupportedError: mpigrad.jit.trace is not supported ('sin'): use mpigrad.jit.script, which ...
    """
    name = getattr(func, "__name__", None) or type(func).__name__
    raise NotSupportedError(
        f"mpigrad.jit.trace is not supported ({name!r}): use mpigrad.jit.script, which builds the same kind of graph from the "
        "source, with all its branches and loops"
    )


def trace_module(mod: Any, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Refused, as `jit.trace` is.

    >>> import mpigrad
    >>> mpigrad.jit.trace_module(mpigrad.nn.Linear(1, 1), {})
    Traceback (most recent call last):
    mpigrad.jit._ir.errors.NotSupportedError: mpigrad.jit.trace is not supported ('Linear'): use mpigrad.jit.script, which ...
    """
    return trace(mod)


def is_tracing() -> bool:
    """Whether this runs inside `jit.trace`: never.

    >>> import mpigrad
    >>> mpigrad.jit.is_tracing()
    False
    """
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """`isinstance` that also knows containers: `List[int]`, `Optional[Tensor]`, or a tuple of types.

    >>> import mpigrad, typing
    >>> mpigrad.jit.isinstance([1, 2], typing.List[int])
    True
    """
    wanted = target_type if isinstance_(target_type, tuple) else (target_type,)
    return any(convert(from_annotation(each), obj) is not NO and _same_kind(each, obj) for each in wanted)


def _same_kind(wanted: Any, obj: Any) -> bool:
    kind = from_annotation(wanted).kind
    strict: dict[str, type] = {"List": list, "int": int, "float": float, "Tuple": tuple, "Dict": dict}
    return kind not in strict or isinstance_(obj, strict[kind])


@functools.cache
def _example() -> Any:
    from .script import script

    return script(double_and_add)


def double_and_add(x):  # type: ignore[no-untyped-def]
    return x * 2 + x
