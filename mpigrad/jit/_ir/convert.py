"""Conversion of arguments at the boundary of scripted code."""

from __future__ import annotations

from typing import Any

from mpigrad._array.device import device as Device
from mpigrad._array.dtype import dtype as DType
from mpigrad._array.layout import layout, memory_format
from mpigrad._tensor import Tensor
from mpigrad.autograd.profiler import record_function
from mpigrad.futures import Future

from .types import Type, class_of, classes, interfaces, is_rref, script_classes

NO = object()  # the value does not fit


def convert(wanted: Type, value: Any) -> Any:
    """The value converted for scripted code (ints to floats where floats are expected), or NO."""
    test = _TESTS.get(wanted.kind)
    if test is not None:
        return test(wanted, value)
    return value if _is_module(wanted.kind, value) else NO


def _of(*classes: type) -> Any:
    return lambda wanted, value: value if isinstance(value, classes) else NO


def _float(wanted: Type, value: Any) -> Any:
    if isinstance(value, float):
        return value
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else NO


def _all_are(kind: Type, values: Any) -> bool:
    """Whether all values have exactly the class of a type, so that no conversion is needed; fast for long lists."""
    own = _OWN.get(kind.kind)
    return own is not None and set(map(type, values)) <= own


def _list(wanted: Type, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return NO
    if _all_are(wanted.args[0], value):
        return value if isinstance(value, list) else list(value)
    made = [convert(wanted.args[0], each) for each in value]
    if any(each is NO for each in made):
        return NO
    same = isinstance(value, list) and all(a is b for a, b in zip(made, value))
    return value if same else made


def _tuple(wanted: Type, value: Any) -> Any:
    if not isinstance(value, tuple) or len(value) != len(wanted.args):
        return NO
    if wanted.fields and getattr(value, "_fields", None) != wanted.fields:
        return NO
    made = tuple(convert(kind, each) for kind, each in zip(wanted.args, value))
    if any(each is NO for each in made):
        return NO
    return class_of(wanted)(*made) if wanted.fields else made


def _dict(wanted: Type, value: Any) -> Any:
    if not isinstance(value, dict):
        return NO
    if _all_are(wanted.args[0], value) and _all_are(wanted.args[1], value.values()):
        return value
    fits = all(convert(wanted.args[0], k) is not NO and convert(wanted.args[1], v) is not NO for k, v in value.items())
    return value if fits else NO


def _optional(wanted: Type, value: Any) -> Any:
    return None if value is None else convert(wanted.args[0], value)


def _enum(wanted: Type, value: Any) -> Any:
    return value if type(value) is classes.get(wanted.name) else NO


def _rref(wanted: Type, value: Any) -> Any:
    return value if is_rref(value) else NO


def _is_module(name: str, value: Any) -> bool:
    """Whether a value is an instance of a script class, a scripted module of a class, or has the methods of an interface."""
    if name in script_classes:
        return isinstance(value, script_classes[name].cls)
    wanted = interfaces.get(name)
    if wanted is None:
        return getattr(value, "_script_type", None) == name
    methods = getattr(value, "_script_methods", {})
    return all(
        method in methods
        and [each.type for each in methods[method].schema.arguments] == [each.type for each in schema.arguments]
        and methods[method].returns == schema.returns
        for method, schema in wanted.items()
    )


_OWN: dict[str, set[type]] = {"Tensor": {Tensor}, "int": {int}, "float": {float}, "bool": {bool}, "str": {str}}
_TESTS: dict[str, Any] = {
    "Tensor": _of(Tensor), "int": _of(int), "float": _float, "bool": _of(bool), "str": _of(str),
    "complex": _of(complex, float, int), "number": _of(int, float, complex), "NoneType": _of(type(None)),
    "Any": lambda wanted, value: value, "Device": _of(Device, str), "dtype": _of(DType), "Layout": _of(layout),
    "MemoryFormat": _of(memory_format), "Future": _of(Future), "_RecordFunction": _of(record_function),
    "RRef": _rref, "List": _list, "Tuple": _tuple,
    "Dict": _dict, "Enum": _enum, "Optional": _optional, "Function": lambda wanted, value: value,
}  # fmt: skip
