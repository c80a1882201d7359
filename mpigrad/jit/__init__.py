"""Scripted functions and modules: Python source compiled to a typed graph, in TorchScript's language. RPC calls them by name.

docs/jit.md is an introduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpigrad._process.lazy import lazily

if TYPE_CHECKING:
    from ..futures import Future
    from ._codegen.fork import fork, wait
    from ._codegen.fork import fork as _fork
    from ._codegen.fork import wait as _wait
    from ._files.load import load
    from ._files.save import save
    from ._frontend.decorators import (
        annotate,
        export,
        ignore,
        interface,
        is_scripting,
        is_tracing,
        isinstance,
        script_method,
        trace,
        trace_module,
        unused,
    )
    from ._frontend.function import ScriptFunction
    from ._frontend.module import RecursiveScriptModule, ScriptModule
    from ._frontend.script import _example, script
    from ._ir.errors import Error
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "Error", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "ignore",
    "interface", "is_scripting",
    "is_tracing", "isinstance", "load", "save", "script", "script_method", "trace", "trace_module", "unused", "wait",
]  # fmt: skip
