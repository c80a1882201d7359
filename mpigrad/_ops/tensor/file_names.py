"""The names under which files store mpigrad's own classes and functions.

A file contains no module paths of the package, but names such as `tensor`, `dtype`, `mpigrad.nn.Parameter`. These names are part
of the file format and never change; the right-hand side is the present location.
"""

from __future__ import annotations

import importlib
from typing import Any

from mpigrad._array.layout import layout

_FUNCTIONS = ("function", "cython_function_or_method")
_PLACES = {
    "tensor": ("mpigrad._ops.tensor.pickling", "rebuild"),
    "sparse tensor": ("mpigrad._ops.tensor.pickling", "rebuild_sparse"),
    "sparse array": ("mpigrad._array.sparse.array", "SparseArray"),
    "memory": ("mpigrad._ops.tensor.pickling", "host_memory"),
    "parameter": ("mpigrad.nn.parameter", "_rebuild"),
    "buffer": ("mpigrad.nn.parameter", "_rebuild_buffer"),
    "dtype": ("mpigrad._array.dtype", "_named"),
    "named result": ("mpigrad.return_types", "_named"),
    "mpigrad.Size": ("mpigrad._tensor", "Size"),
    "mpigrad.Tensor": ("mpigrad._tensor", "Tensor"),
    "mpigrad.dtype": ("mpigrad._array.dtype", "dtype"),
    "mpigrad.layout": ("mpigrad._array.layout", "layout"),
    "mpigrad.memory_format": ("mpigrad._array.layout", "memory_format"),
    "mpigrad.device": ("mpigrad._array.device", "device"),
    "mpigrad.nn.Parameter": ("mpigrad.nn.parameter", "Parameter"),
    "mpigrad.nn.Buffer": ("mpigrad.nn.parameter", "Buffer"),
    "mpigrad.nn.UninitializedParameter": ("mpigrad.nn.parameter", "UninitializedParameter"),
    "mpigrad.nn.UninitializedBuffer": ("mpigrad.nn.parameter", "UninitializedBuffer"),
    "generator": ("mpigrad._generator", "_restored"),
}
_LAYOUTS = ("strided", "sparse_coo", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
_PLACES.update({f"mpigrad.{name}": ("mpigrad._array.layout", name) for name in _LAYOUTS})
_NAMES = {place: name for name, place in _PLACES.items()}
# Locations in files of format 1 -> present locations.
_MOVED = {
    "mpigrad._dtype": "mpigrad._array.dtype",
    "mpigrad._device": "mpigrad._array.device",
    "mpigrad._layout": "mpigrad._array.layout",
    "mpigrad._sparse_array.array": "mpigrad._array.sparse.array",
    "mpigrad._ops.copying": "mpigrad._ops.tensor.pickling",
}


def moved(module: str) -> str:
    """The current module of an object that a file of format 1 looks up in `module`."""
    return _MOVED.get(module, module)


def name_of(thing: Any) -> str | None:
    """The name under which files store a class, function or layout of mpigrad; None for other objects."""
    if isinstance(thing, layout):
        return f"mpigrad.{thing._name}"
    if not isinstance(thing, type) and type(thing).__name__ not in _FUNCTIONS:
        return None
    found = _NAMES.get((thing.__module__, thing.__qualname__))
    return found if found is not None and named(found) is thing else None


def named(name: str) -> Any:
    """The class, function or layout of mpigrad that files store under a name; KeyError if there is none."""
    module, attribute = _PLACES[name]
    return getattr(importlib.import_module(module), attribute)


def name_at(module: str, attribute: str) -> str | None:
    """The name under which files store the object that is now `attribute` of `module`; None if it is not one of mpigrad's."""
    return _NAMES.get((module, attribute))


__all__: list[str] = []
