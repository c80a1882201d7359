"""The library under test, chosen by the environment: the only line in which torch and mpigrad programs differ."""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

from benchmarks.contestants import VARIABLE

NAME = os.environ.get(VARIABLE, "mpigrad")

# Any, not ModuleType: the programs use names that neither library declares to a type checker.
library: Any = importlib.import_module(NAME)


def part(path: str) -> Any:
    """Import a submodule of the library under test by its path inside it, e.g. ``distributed.rpc``."""
    module: ModuleType = importlib.import_module(f"{NAME}.{path}")
    return module
