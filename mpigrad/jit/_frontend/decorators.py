"""Decorators (`ignore`, `unused`, `export`, `interface`, ...), and functions with a special meaning in scripted code."""

from __future__ import annotations

import builtins
import functools
import inspect
from typing import Any

from .._ir.convert import NO, convert
from .._ir.errors import NotSupportedError
from .._ir.operators import special_form
from .._ir.schema import Argument, Schema
from .._ir.types import NONE, TENSOR, from_annotation, interfaces, qualified
from .._lower.scope import Scope


def _marked(function: Any, mark: str) -> Any:
    if builtins.isinstance(function, property):
        raise TypeError(f"@mpigrad.jit.{mark} is for functions and methods, not properties")
    function._jit_mark = mark
    return function


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Decorator: do not compile this function; scripted code calls it as Python. Its annotations give the types.

    `@ignore(drop=True)` means `unused`.

    >>> import mpigrad
    >>> @mpigrad.jit.ignore
    ... def log(x: mpigrad.Tensor) -> None:
    ...     print(x.sum())
    """
    mark = "unused" if drop is True or kwargs.get("drop_on_export") else "ignore"
    return functools.partial(_marked, mark=mark) if builtins.isinstance(drop, bool) else _marked(drop, mark)


def unused(fn: Any) -> Any:
    """Decorator: do not compile this function; scripted code that calls it raises an error when it gets there.

    >>> import mpigrad
    >>> @mpigrad.jit.unused
    ... def debug(x: mpigrad.Tensor) -> mpigrad.Tensor:
    ...     return x
    """
    return _marked(fn, "unused")


def export(fn: Any) -> Any:
    """Decorator of a module's method: `jit.script(module)` compiles it even if `forward` does not call it.

    >>> import mpigrad
    >>> class Net(mpigrad.nn.Module):
    ...     @mpigrad.jit.export
    ...     def twice(self, x):
    ...         return x + x
    >>> mpigrad.jit.script(Net()).twice(mpigrad.ones(2)).tolist()
    [2.0, 2.0]
    """
    return _marked(fn, "export")


def script_method(fn: Any) -> Any:
    """Decorator of a method of a `ScriptModule` that is to be compiled; other methods remain Python (example: `ScriptModule`)."""
    return _marked(fn, "script_method")


def interface(obj: type) -> type:
    """Decorator of a class that declares an interface: the annotations of its methods count, their bodies are
    ignored.

    Scripted modules that have these methods can be passed where the interface is the type of an argument.

    >>> import mpigrad
    >>> @mpigrad.jit.interface
    ... class OneToOne:
    ...     def forward(self, x: mpigrad.Tensor) -> mpigrad.Tensor:
    ...         pass
    """
    if not inspect.isclass(obj):
        raise RuntimeError(f"interface must be applied to a class, got {obj!r}")
    interfaces[qualified(obj)] = {
        name: _declared(name, function) for name, function in vars(obj).items() if inspect.isfunction(function)
    }
    obj._is_jit_interface = True  # type: ignore[attr-defined]
    return obj


def _declared(name: str, function: Any) -> Schema:
    scope, hints = Scope(function), function.__annotations__
    arguments = [
        Argument(name, scope.of_argument(hints[name]) if name in hints else TENSOR, name not in hints,
                 each.default is not each.empty, None if each.default is each.empty else each.default)
        for name, each in list(inspect.signature(function).parameters.items())[1:]
    ]
    return Schema(name, tuple(arguments), scope.of_argument(hints["return"]) if "return" in hints else NONE)


@special_form
def annotate(the_type: Any, the_value: Any) -> Any:
    """Return `the_value`, and declare in scripted code that its type is `the_type`, for example of an empty list.

    >>> import mpigrad
    >>> mpigrad.jit.annotate(int, 3)
    3
    """
    return the_value


@special_form
def is_scripting() -> bool:
    """Whether this code runs compiled: False in Python, True (a constant) in scripted code.

    >>> import mpigrad
    >>> mpigrad.jit.is_scripting()
    False
    """
    return False


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Not supported: raises a NotSupportedError. A trace would contain only the branches of one run; use
    `jit.script`.

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
    """Not supported: raises a NotSupportedError; use `jit.script`.

    >>> import mpigrad
    >>> mpigrad.jit.trace_module(mpigrad.nn.Linear(1, 1), {})
    Traceback (most recent call last):
    mpigrad.jit._ir.errors.NotSupportedError: mpigrad.jit.trace is not supported ('Linear'): use mpigrad.jit.script, which ...
    """
    return trace(mod)


@special_form
def is_tracing() -> bool:
    """Whether the code runs inside `jit.trace`, which is not supported: always False.

    >>> import mpigrad
    >>> mpigrad.jit.is_tracing()
    False
    """
    return False


@special_form
def isinstance(obj: Any, target_type: Any) -> bool:
    """Python's `isinstance` that also accepts types of containers, such as `List[int]` and `Optional[Tensor]`, or a
    tuple of types.

    `target_type`: the type, or a tuple of types.

    >>> import mpigrad, typing
    >>> mpigrad.jit.isinstance([1, 2], typing.List[int])
    True
    """
    wanted = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return any(convert(from_annotation(each), obj) is not NO and _same_kind(each, obj) for each in wanted)


def _same_kind(wanted: Any, obj: Any) -> bool:
    kind = from_annotation(wanted).kind
    strict: dict[str, type] = {"List": list, "int": int, "float": float, "Tuple": tuple, "Dict": dict}
    return kind not in strict or builtins.isinstance(obj, strict[kind])
