"""Neural networks: modules, their parameters and functions."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .modules import __all__ as _names  # type: ignore[attr-defined]
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    *_names, "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules",
    "parameter", "utils",
]  # fmt: skip
