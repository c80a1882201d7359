"""`jit.script`: compiles functions, modules and classes."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

from mpigrad.nn.modules.module import Module

from .._ir.errors import NotSupportedError
from .compile_function import script_function
from .function import ScriptFunction
from .module import RecursiveScriptModule, ScriptModule
from .script_class import script_class


def script(obj: Any, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """Compile `obj`, a function, a module with its methods, or a class, to a typed graph; returns a callable with the
    same parameters.

    Arguments are tensors unless annotated. The language is TorchScript's part of Python (docs/jit.md); other code
    raises an error here, with the file and the line. Other arguments than `obj` have no effect on the result.

    >>> import mpigrad
    >>> @mpigrad.jit.script
    ... def double_and_add(x):
    ...     return x * 2 + x
    >>> double_and_add(mpigrad.ones(2)).tolist()
    [3.0, 3.0]
    >>> mpigrad.testing.FileCheck().check("aten::mul").check("aten::add").run(double_and_add.graph)    # the text has both
    """
    if isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    if isinstance(obj, Module):
        return RecursiveScriptModule(obj)
    if isinstance(obj, type):
        return script_class(obj, sys._getframe(_frames_up + 1).f_locals)
    if hasattr(obj, "_wrapped_async_rpc_function"):
        raise RuntimeError(
            f"'{obj.__name__}' is decorated with @rpc.functions.async_execution, which cannot be scripted: put that decorator "
            "above @mpigrad.jit.script"
        )
    if not inspect.isfunction(obj):
        raise NotSupportedError(f"Cannot script {obj!r}: mpigrad.jit.script takes functions and modules")
    return script_function(obj, sys._getframe(_frames_up + 1).f_locals).call


@functools.cache
def _example() -> Any:
    return script(double_and_add)


def double_and_add(x):  # type: ignore[no-untyped-def]
    return x * 2 + x
