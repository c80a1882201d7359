"""The library under test, chosen by the environment: the only line in which torch and mpigrad programs differ.

Tensors can be chosen apart: a torch program moves to our RPC by changing the imports of `torch.distributed` and `torch.futures`.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Any

from benchmarks.contestants import TENSORS_VARIABLE, VARIABLE

NAME = os.environ.get(VARIABLE, "mpigrad")
TENSORS = os.environ.get(TENSORS_VARIABLE) or NAME

# Any, not ModuleType: the programs use names that neither library declares to a type checker.
library: Any = importlib.import_module(TENSORS)


def part(path: str) -> Any:
    """Import a submodule of the library under test by its path inside it, e.g. ``distributed.rpc``."""
    name = NAME if path.startswith(("distributed", "futures")) else TENSORS
    module: ModuleType = importlib.import_module(f"{name}.{path}")
    return module
