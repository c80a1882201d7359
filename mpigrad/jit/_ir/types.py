"""Types of scripted values: written as PyTorch writes them, made from annotations, checked against values."""

from __future__ import annotations

import collections
import enum
import types
import typing
from typing import Any, NamedTuple

from mpigrad._array.device import device as Device
from mpigrad._array.dtype import dtype as DType
from mpigrad._array.layout import layout, memory_format
from mpigrad._tensor import Tensor
from mpigrad.autograd.profiler import record_function
from mpigrad.futures import Future


class Type(NamedTuple):
    """A type: its kind, and the types it is made of. Modules and interfaces have the kind of their name.
    Named tuples are tuples with fields; they and enums have the name of their class."""

    kind: str
    args: tuple[Type, ...] = ()
    name: str = ""
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _GRAPH.get(self.kind, _plain)(self)

    def mentions(self, kind: str) -> bool:
        """Whether a kind of type is in it."""
        return self.kind == kind or any(each.mentions(kind) for each in self.args)

    def python(self) -> str:
        """The type as Python writes it: `List[int]`, `Optional[Tensor]`."""
        if self.kind == "NoneType":
            return "None" if not self.args else "NoneType"
        if self.name:
            return self.name.rpartition(".")[2]
        return f"{self.kind}[{', '.join(each.python() for each in self.args)}]" if self.args else self.kind


def _plain(each: Type) -> str:
    return f"{each.kind}[{', '.join(map(str, each.args))}]" if each.args else each.kind


def _named_text(each: Type) -> str:
    return f"NamedTuple({', '.join(f'{field} : {kind}' for field, kind in zip(each.fields, each.args))})"


_GRAPH: dict[str, Any] = {
    "List": lambda each: f"{each.args[0]}[]",
    "Optional": lambda each: f"{each.args[0]}?",
    "Tuple": lambda each: _named_text(each) if each.fields else f"({', '.join(map(str, each.args))})",
    "Enum": lambda each: f"Enum<{each.name}>",
    "Dict": lambda each: f"Dict({each.args[0]}, {each.args[1]})",
}

TENSOR, INT, FLOAT, BOOL, STR = Type("Tensor"), Type("int"), Type("float"), Type("bool"), Type("str")
COMPLEX, NUMBER, NONE, ANY, FUNCTION = Type("complex"), Type("number"), Type("NoneType"), Type("Any"), Type("Function")
DEVICE, DTYPE, LAYOUT = Type("Device"), Type("dtype"), Type("Layout")
NUMERIC = {INT, FLOAT, BOOL, COMPLEX, NUMBER}
SIZES = Type("List", (INT,))


def list_of(each: Type) -> Type:
    """`List[each]`."""
    return Type("List", (each,))


def tuple_of(*each: Type) -> Type:
    """`Tuple[each, ...]`."""
    return Type("Tuple", tuple(each))


def optional(each: Type) -> Type:
    """`Optional[each]`."""
    return each if each.kind in ("Optional", "Any") else NONE if each is NONE else Type("Optional", (each,))


_BY_CLASS: dict[Any, Type] = {
    Tensor: TENSOR, int: INT, float: FLOAT, bool: BOOL, str: STR, complex: COMPLEX, None: NONE, type(None): NONE, Any: ANY,
    Device: DEVICE, DType: DTYPE, layout: LAYOUT, memory_format: Type("MemoryFormat"),
    list: list_of(TENSOR), list[Any]: list_of(ANY), record_function: Type("_RecordFunction"),
}  # fmt: skip
interfaces: dict[str, dict[str, Any]] = {}  # name of a class decorated with @jit.interface -> the schemas of its methods
script_classes: dict[str, Any] = {}  # name of a class that was scripted -> its `ScriptClass`
script_class_names: dict[type, str] = {}  # and the other way: two classes of one name have different ones here


def from_annotation(given: Any) -> Type:
    """The type that an annotation means; TypeError if scripting has none for it."""
    if isinstance(given, Type):
        return given  # of functions that the library writes
    try:
        if given in _BY_CLASS:
            return _BY_CLASS[given]
    except TypeError:
        pass
    origin, args = typing.get_origin(given), typing.get_args(given)
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        return _union(given, args)
    if origin in (list, dict, tuple):
        inside = () if args == ((),) else tuple(from_annotation(each) for each in args if each is not Ellipsis)
        return Type(origin.__name__.capitalize(), inside)
    name = getattr(origin, "__name__", None)
    if origin is Future or name == "RRef":
        return Type("Future" if origin is Future else "RRef", (from_annotation(args[0]),))
    if given is Future:
        return Type("Future", (TENSOR,))
    if isinstance(given, type):
        if issubclass(given, Tensor):
            return TENSOR
        if "_is_jit_interface" in vars(given) or getattr(given, "_is_script_module", False):
            return Type(qualified(given))
        if is_script_class(given):
            return Type(script_class_names[given])
        if is_named_tuple(given):
            return _named_tuple(given)
        if issubclass(given, enum.Enum):
            return _enum(given)
    raise TypeError(f"Unknown type annotation: '{getattr(given, '__name__', given)}'")


def is_script_class(given: Any) -> bool:
    """Whether an object is a class that was scripted."""
    return isinstance(given, type) and given in script_class_names


def is_module(kind: Type) -> bool:
    """Whether a type is that of a module or an interface."""
    return kind.kind.startswith("__mpigrad__") and kind.kind not in script_classes


def _union(given: Any, args: tuple[Any, ...]) -> Type:
    rest = [each for each in args if each is not type(None)]
    if len(rest) == len(args) or len(rest) != 1:
        raise TypeError(f"Unknown type annotation: '{given}': of unions only Optional[T] is supported")
    return optional(from_annotation(rest[0]))


_made: dict[tuple[str, tuple[str, ...]], Any] = {}  # named tuples of files: name and fields -> the class
classes: dict[str, type] = {}  # qualified name -> the named tuple or enum that scripted code uses


def is_named_tuple(given: Any) -> bool:
    """Whether something is a class of named tuples."""
    return isinstance(given, type) and issubclass(given, tuple) and hasattr(given, "_fields")


def _named_tuple(cls: Any) -> Type:
    hints = typing.get_type_hints(cls)
    kinds = tuple(from_annotation(hints[field]) if field in hints else TENSOR for field in cls._fields)
    classes[qualified(cls)] = cls
    return Type("Tuple", kinds, qualified(cls), cls._fields)


def _enum(cls: type[enum.Enum]) -> Type:
    kinds = {type_of(each.value) for each in cls}
    if len(kinds) != 1 or not kinds <= {INT, FLOAT, STR}:
        raise TypeError(f"Unknown type annotation: '{cls.__name__}': the values of an enum must be all int, all float or all str")
    classes[qualified(cls)] = cls
    return Type("Enum", tuple(kinds), qualified(cls))  # type: ignore[arg-type]


def class_of(kind: Type) -> Any:
    """The class of a named tuple; made anew for a graph that was read from a file, whatever else has that name."""
    found: Any = classes.get(kind.name)
    if found is None or getattr(found, "_fields", None) != kind.fields:
        found = _made.get((kind.name, kind.fields))
    if found is None:
        found = collections.namedtuple(kind.python(), kind.fields)  # type: ignore[misc,no-redef]
        _made[kind.name, kind.fields] = found
    return found


def qualified(cls: type) -> str:
    """The name of a class in graphs."""
    return f"__mpigrad__.{cls.__module__}.{cls.__qualname__.replace('.<locals>', '')}"


def type_of(value: Any) -> Type | None:
    """The type of a Python value that may be an attribute or a constant; None if scripting has none for it."""
    if isinstance(value, enum.Enum):
        return from_annotation(type(value))
    for cls, found in ((bool, BOOL), (int, INT), (float, FLOAT), (str, STR), (complex, COMPLEX), (Tensor, TENSOR)):
        if isinstance(value, cls):
            return found
    if value is None or isinstance(value, (Device, DType, layout, memory_format)):
        return _BY_CLASS[type(value)]
    if isinstance(value, (tuple, list)):
        inside = [type_of(each) for each in value]
        if None in inside or (isinstance(value, list) and len(set(inside)) > 1):
            return None
        return Type("Tuple", tuple(inside)) if isinstance(value, tuple) else list_of(inside[0] if inside else TENSOR)  # type: ignore[arg-type]
    if isinstance(value, dict) and value:
        pairs = {(type_of(key), type_of(each)) for key, each in value.items()}
        return Type("Dict", pairs.pop()) if len(pairs) == 1 and not any(None in pair for pair in pairs) else None  # type: ignore[arg-type]
    if is_rref(value):
        return _rref_type(value)
    return from_annotation(type(value)) if is_script_class(type(value)) else None


def is_rref(value: Any) -> bool:
    """Whether a value is an RRef; its class is of a layer above."""
    return any(cls.__name__ == "RRef" for cls in type(value).__mro__)


def _rref_type(rref: Any) -> Type:
    """The type of an RRef, whose owner is asked for the class of its value."""
    cls = rref._get_type()
    if issubclass(cls, Tensor):
        return Type("RRef", (TENSOR,))
    known = cls in _BY_CLASS and cls is not list or is_script_class(cls)
    return Type("RRef", (from_annotation(cls) if known else ANY,))


def fits(given: Type, wanted: Type) -> bool:
    """Whether a value of one type may stand where another is wanted."""
    if given == wanted or wanted is ANY or wanted == ANY or given == ANY:
        return True
    if wanted.kind == "Optional":
        return given == NONE or fits(given.args[0] if given.kind == "Optional" else given, wanted.args[0])
    if wanted.name and given.name != wanted.name:
        return False
    if wanted == NUMBER:
        return given in NUMERIC
    if given.kind == wanted.kind and len(given.args) == len(wanted.args) and given.args:
        return all(fits(a, b) for a, b in zip(given.args, wanted.args))
    return given.kind == "Tuple" and wanted.kind == "List" and all(fits(each, wanted.args[0]) for each in given.args)


def unify(a: Type, b: Type) -> Type | None:
    """The type that covers both, as PyTorch finds it for the branches of an `if`; None if there is none."""
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if one == NONE:
            return optional(other)
        if fits(one, other):
            return other
        if one == NUMBER and other in NUMERIC:
            return NUMBER
    if a.kind == b.kind == "Tuple" and len(a.args) == len(b.args):
        parts = [unify(x, y) for x, y in zip(a.args, b.args)]
        return None if None in parts else Type("Tuple", tuple(parts))  # type: ignore[arg-type]
    return None
