"""Gives tests both forms of a module that has a separate one for the compiler: the one in use, and plain Python."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import mpigrad


def plain_form(name: str) -> ModuleType:
    """Import the plain Python form of a module of mpigrad, such as "_core.rpc.frames", beside the one in use."""
    file = Path(mpigrad.__file__).parent / (name.replace(".", "/") + ".py")
    spec = importlib.util.spec_from_file_location(f"mpigrad.{name}_as_plain_python", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module
