"""cloudpickle for what plain pickle cannot do. Scripted functions inside it travel by name, as plain pickle sends them."""

from __future__ import annotations

import io
from collections import ChainMap
from collections.abc import Mapping
from types import MethodType
from typing import Any

_class: Any = None


def reduced_by_name(obj: Any) -> Any:
    """How pickle itself reduces the callables of scripted functions, which cloudpickle would take apart; else NotImplemented."""
    if type(obj) is MethodType and getattr(obj, "_travels_by_name", False):
        return obj.__reduce__()
    return NotImplemented


def dumps(obj: Any, reducers: Mapping[type, Any] | None = None) -> bytes:
    """Pickle `obj` with cloudpickle, imported when first needed; `reducers` says how objects of some types are reduced."""
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
