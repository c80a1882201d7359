"""Scripted functions and modules: Python source as a typed graph, which travels by name over RPC."""

from __future__ import annotations

from ..futures import Future
from ._errors import Error
from ._fork import fork, wait
from ._function import ScriptFunction
from ._interface import interface
from ._load import load
from ._marks import (
    _example,
    annotate,
    export,
    ignore,
    is_scripting,
    is_tracing,
    isinstance,
    trace,
    trace_module,
    unused,
)
from ._module import RecursiveScriptModule, ScriptModule, script_method
from ._save import save
from ._script import script

_fork, _wait = fork, wait

__all__ = [
    "Error", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "ignore",
    "interface", "is_scripting",
    "is_tracing", "isinstance", "load", "save", "script", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
