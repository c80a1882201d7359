"""Names that programs import from `torch._jit_internal`."""

from __future__ import annotations

from typing import Any

from .futures import Future
from .jit import ScriptFunction
from .jit._ir.types import qualified

__all__ = ["Future"]


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """The name of a scripted function or of a class in graphs. `mangle_name` has no effect.

    >>> import mpigrad
    >>> mpigrad._jit_internal._qualified_name(mpigrad.jit._example())
    '__mpigrad__.mpigrad.jit._frontend.script.double_and_add'
    """
    return obj.qualified_name if isinstance(obj, ScriptFunction) else qualified(obj)
