"""cloudpickle for objects that pickle cannot encode. Scripted functions inside are still pickled by name."""

from __future__ import annotations

import io
from collections import ChainMap
from collections.abc import Mapping
from types import MethodType
from typing import Any

_class: Any = None


def reduced_by_name(obj: Any) -> Any:
    """The reduction of scripted functions by name, where cloudpickle would pickle them by value; NotImplemented for others."""
    if type(obj) is MethodType and getattr(obj, "_travels_by_name", False):
        return obj.__reduce__()
    return NotImplemented


def dumps(obj: Any, reducers: Mapping[type, Any] | None = None) -> bytes:
    """Pickle `obj` with cloudpickle, which is imported on first use; `reducers` maps types to reduction functions."""
    global _class
    if _class is None:
        import cloudpickle

        class Pickler(cloudpickle.Pickler):
            def reducer_override(self, obj: Any) -> Any:
                found = reduced_by_name(obj)
                return super().reducer_override(obj) if found is NotImplemented else found

        _class = Pickler
    file = io.BytesIO()
    pickler = _class(file, protocol=5)
    if reducers:
        pickler.dispatch_table = ChainMap(dict(reducers), pickler.dispatch_table)
    pickler.dump(obj)
    return file.getvalue()
