"""Python functions that graphs may call: built-ins, `math`, and methods of strings, lists, dicts, futures and RRefs.

Also defines the types of their results.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

from .types import ANY, BOOL, FLOAT, INT, NONE, NUMBER, NUMERIC, SIZES, STR, TENSOR, Type, list_of, optional, tuple_of

BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in ("len", "int", "float", "bool", "str", "abs", "min", "max", "print", "round", "sum", "sorted", "list", "ord",
                 "chr", "complex", "divmod", "pow", "all", "any", "slice", "tuple", "dict", "hex", "bin")
}  # fmt: skip
_BY_OBJECT = {id(each): name for name, each in BUILTINS.items() if name not in ("slice", "dict")}
MATH = {
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "pow", "fabs", "erf", "erfc", "gamma", "lgamma", "hypot", "degrees",
    "radians", "copysign", "fmod", "gcd", "factorial", "isnan", "isinf", "isfinite", "ldexp",
}  # fmt: skip


def builtin_name(obj: Any) -> str | None:
    """The name of a built-in function; None for other objects."""
    return _BY_OBJECT.get(id(obj))


def is_math(obj: Any) -> bool:
    """Whether an object is a function of Python's math module."""
    return getattr(obj, "__module__", None) == "math" and obj.__name__ in MATH and getattr(math, obj.__name__) is obj


def builtin_op(name: str) -> str:
    """The operator's name of a built-in function."""
    if name in ("int", "float", "bool", "complex"):
        return f"aten::{name.capitalize()}"
    return {"print": "prim::Print", "min": "prim::min", "max": "prim::max", "list": "aten::list"}.get(
        name, f"aten::{name}"
    )


def builtin_result(name: str, args: list[Type]) -> Type | None:
    """The result type of a built-in; None if it does not accept these argument types."""
    scalars = {"int": INT, "float": FLOAT, "bool": BOOL, "str": STR, "complex": Type("complex")}
    first = args[0] if args else NONE
    if name in scalars:
        return (
            scalars[name] if len(args) == 1 and (name == "str" or first in NUMERIC or first in (TENSOR, STR)) else None
        )
    if name == "print":
        return NONE
    if name == "len":
        return INT if len(args) == 1 and first.kind in ("List", "Dict", "Tuple", "Tensor", "str") else None
    if name in ("ord", "chr", "hex", "bin"):
        return INT if name == "ord" and first == STR else STR if name != "ord" and first == INT else None
    if name in ("abs", "round"):
        return (
            (INT if name == "round" and len(args) == 1 and first != TENSOR else first)
            if first in NUMERIC or first == TENSOR
            else None
        )
    if name in ("all", "any"):
        return BOOL if first.kind == "List" else None
    if name in ("sum", "sorted", "list"):
        inside = first.args[0] if first.kind in ("List", "Dict") else STR if first == STR else None
        return None if inside is None else inside if name == "sum" else list_of(inside)
    if name in ("min", "max"):
        return first.args[0] if len(args) == 1 and first.kind == "List" else _number(args)
    if name == "divmod":
        return tuple_of(_number(args) or INT, _number(args) or INT)
    return FLOAT if name == "pow" and _number(args) else TENSOR if name == "pow" and first == TENSOR else None


def _number(args: list[Type]) -> Type | None:
    if len(args) < 2 or any(each not in NUMERIC for each in args):
        return None
    return NUMBER if NUMBER in args else FLOAT if FLOAT in args else INT


_STRING = {
    **dict.fromkeys(("upper", "lower", "strip", "lstrip", "rstrip", "replace", "format", "join", "capitalize", "title", "zfill",
                     "center", "ljust", "rjust"), STR),
    **dict.fromkeys(("split", "splitlines", "rsplit"), list_of(STR)),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isupper", "islower", "isspace", "isidentifier"), BOOL),
    **dict.fromkeys(("find", "rfind", "index", "count"), INT),
}  # fmt: skip


def method_result(owner: Type, name: str, args: list[Type]) -> Type | None:
    """The result type of a method of a list, dict, string, future or RRef; None if there is no such method."""
    if owner.kind == "Dict" and name == "get" and len(args) < 2:
        return optional(owner.args[1])
    return _methods(owner).get(name)


def _methods(owner: Type) -> dict[str, Type]:
    if owner == STR:
        return _STRING
    if owner.kind == "List":
        return {"append": NONE, "extend": NONE, "insert": NONE, "clear": NONE, "reverse": NONE, "sort": NONE, "remove": NONE,
                "pop": owner.args[0], "index": INT, "count": INT, "copy": owner,
                **({"numel": INT} if owner == SIZES else {})}  # fmt: skip
    if owner.kind == "Dict":
        key, value = owner.args
        return {"keys": list_of(key), "values": list_of(value), "items": list_of(tuple_of(key, value)), "pop": value,
                "get": value, "update": NONE, "clear": NONE, "copy": owner, "setdefault": value}  # fmt: skip
    if owner.kind == "Future":
        return {"wait": owner.args[0], "value": owner.args[0], "done": BOOL}
    if owner.kind == "RRef":
        return {"to_here": owner.args[0], "local_value": owner.args[0], "is_owner": BOOL, "owner_name": STR,
                "confirmed_by_owner": BOOL, "owner": ANY, "backward": NONE}  # fmt: skip
    return {}


_OWNERS = (STR, SIZES, Type("Dict", (STR, TENSOR)), Type("Future", (TENSOR,)), Type("RRef", (TENSOR,)))
METHODS = {name for owner in _OWNERS for name in _methods(owner)} - {"keys", "values", "items"}  # those become lists
