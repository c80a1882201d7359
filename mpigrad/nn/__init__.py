"""Neural networks: modules, their parameters and functions."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .modules import __all__ as _names
from .parameter import Buffer, Parameter

__all__ = [*_names, "Buffer", "Parameter", "functional", "init", "modules", "parameter", "utils"]
