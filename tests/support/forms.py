"""Both forms of a module that has one for the compiler alone: the one that runs, and its plain Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import mpigrad


def plain_form(name: str) -> ModuleType:
    """The plain Python of a module of mpigrad ("_core.rpc.frames"), beside the one that runs."""
    file = Path(mpigrad.__file__).parent / (name.replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(f"mpigrad.{name}_as_plain_python", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module
