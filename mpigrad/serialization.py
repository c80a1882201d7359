"""Which classes `mpigrad.load` may create objects of. `mpigrad.save` and `mpigrad.load` write and read files."""

from __future__ import annotations

from ._ops.tensor.safe_globals import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._ops.tensor.serialize import load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
