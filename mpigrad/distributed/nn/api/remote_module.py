"""`RemoteModule` and related names, under the path from which programs for PyTorch import them."""

from __future__ import annotations

from .. import _remote_module
from .._remote_module import RemoteModule

__all__ = ["RemoteModule"]

_RemoteModule = _remote_module._RemoteModule
_REMOTE_MODULE_PICKLED_ATTRIBUTES = _remote_module._REMOTE_MODULE_PICKLED_ATTRIBUTES
_REMOTE_MODULE_ATTRIBUTES_IGNORE_FOR_PICKLING = _remote_module._REMOTE_MODULE_ATTRIBUTES_IGNORE_FOR_PICKLING
