"""What scripted code may call: which of a program's Python objects are operators, built-ins, scripts, or special forms.

The layers above (RPC, distributed autograd) are known by name only; what runs is looked up when a graph is compiled.
"""

from __future__ import annotations

import builtins
import importlib
import math
from types import FunctionType, ModuleType
from typing import Any

from mpigrad._tensor import Tensor

from .._ir.tensor_names import is_forbidden
from .._ir.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    NUMERIC,
    SIZES,
    STR,
    TENSOR,
    Type,
    is_named_tuple,
    list_of,
    optional,
    tuple_of,
)

OPERATOR_MODULES = ("mpigrad", "mpigrad.nn.functional", "mpigrad.linalg", "mpigrad.sparse")
_DEFINED_IN = (
    "mpigrad._ops.", "mpigrad.nn.functional", "mpigrad.linalg", "mpigrad.sparse", "mpigrad.random", "mpigrad._graph.grad_mode",
    "mpigrad._array.dtype",
)  # fmt: skip
SPECIAL = {
    ("mpigrad.distributed.rpc", "rpc_async"), ("mpigrad.distributed.rpc", "rpc_sync"), ("mpigrad.distributed.rpc", "remote"),
    ("mpigrad.distributed.autograd", "get_gradients"), ("mpigrad.distributed.autograd", "backward"),
    ("mpigrad.jit", "fork"), ("mpigrad.jit", "wait"), ("mpigrad.jit", "annotate"), ("mpigrad.jit", "is_scripting"),
    ("mpigrad.jit", "isinstance"), ("mpigrad.jit", "is_tracing"),
}  # fmt: skip
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


def role_of(obj: Any) -> str | None:
    """How a call of an object is lowered; None if it cannot be."""
    from .function import ScriptFunction
    from .members import ModuleMember

    if isinstance(obj, ScriptFunction):
        return "function"
    if isinstance(obj, ModuleMember):
        return "module"
    if is_named_tuple(obj):
        return "named"
    if obj is isinstance or is_special(obj):
        return "special"
    if id(obj) in _BY_OBJECT:
        return "builtin"
    if is_math(obj):
        return "math"
    if is_operator(obj):
        return "operator"
    mark = getattr(obj, "_jit_mark", None)
    if mark in ("ignore", "unused"):
        return "ignored" if mark == "ignore" else "unused"
    if type(obj) is FunctionType and not f"{obj.__module__}.".startswith("mpigrad."):
        return "function"
    return None


def is_special(obj: Any) -> bool:
    """Whether an object is one of the functions that have a node of their own."""
    module, name = str(getattr(obj, "__module__", "")), getattr(obj, "__name__", "")
    return any(name == each and (module == home or module.startswith(home + ".")) for home, each in SPECIAL)


def is_math(obj: Any) -> bool:
    """Whether an object is a function of Python's math module."""
    return getattr(obj, "__module__", None) == "math" and obj.__name__ in MATH and getattr(math, obj.__name__) is obj


def is_operator(obj: Any) -> bool:
    """Whether an object is a function of the library that can be a node."""
    home, name = str(getattr(obj, "__module__", "")), getattr(obj, "__name__", "")
    return (
        callable(obj)
        and not isinstance(obj, type)
        and not is_forbidden(name)
        and (home == "mpigrad" or home.startswith(_DEFINED_IN))
    )


def operator_name(obj: Any) -> tuple[str, str]:
    """The operator's name and target."""
    name = obj.__name__
    for module in OPERATOR_MODULES:
        if getattr(importlib.import_module(module), name, None) is obj:
            return name, f"fn:{module}:{name}"
    for module in OPERATOR_MODULES:  # under another name, such as `abs` and `absolute`
        for other, found in vars(importlib.import_module(module)).items():
            if found is obj:
                return other, f"fn:{module}:{other}"
    return name, f"fn:{obj.__module__}:{name}"


def operator(module: str, name: str) -> Any:
    """The function of a target; ValueError unless it is an operator. Files decide nothing else about what runs."""
    found = getattr(importlib.import_module(module), name, None) if module in OPERATOR_MODULES else None
    if found is None or not is_operator(found):
        raise ValueError(f"{module}.{name} is no operator that a graph may use")
    return found


def complaint(obj: Any, name: str) -> str:
    """Why an object cannot be called."""
    if getattr(obj, "__module__", None) == "builtins" and not isinstance(obj, type):
        return f"Python builtin {obj!r} is currently not supported in scripted code"
    if isinstance(obj, type):
        return f"the class '{obj.__name__}' cannot be made or called in scripted code"
    if isinstance(obj, ModuleType):
        return f"module '{name}' is not callable"
    return f"python value of type '{type(obj).__name__}' ('{name}') cannot be called in scripted code"


def builtin_name(obj: Any) -> str:
    """The name of a built-in function."""
    return _BY_OBJECT[id(obj)]


def builtin_op(name: str) -> str:
    """The operator's name of a built-in function."""
    if name in ("int", "float", "bool", "complex"):
        return f"aten::{name.capitalize()}"
    return {"print": "prim::Print", "min": "prim::min", "max": "prim::max", "list": "aten::list"}.get(
        name, f"aten::{name}"
    )


def builtin_result(name: str, args: list[Type]) -> Type | None:
    """The type of what a built-in gives; None if it does not take these types."""
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
    """The type of what a method of a list, dict, string, future or RRef gives; None if there is no such method."""
    if owner == STR:
        return _STRING.get(name)
    if owner.kind == "List":
        inside = owner.args[0]
        return {"append": NONE, "extend": NONE, "insert": NONE, "clear": NONE, "reverse": NONE, "sort": NONE, "remove": NONE,
                "pop": inside, "index": INT, "count": INT, "copy": owner,
                **({"numel": INT} if owner == SIZES else {})}.get(name)  # fmt: skip
    if owner.kind == "Dict":
        key, value = owner.args
        return {"keys": list_of(key), "values": list_of(value), "items": list_of(tuple_of(key, value)), "pop": value,
                "get": value if len(args) > 1 else optional(value), "update": NONE, "clear": NONE, "copy": owner,
                "setdefault": value}.get(name)  # fmt: skip
    if owner.kind == "Future":
        return {"wait": owner.args[0], "value": owner.args[0], "done": BOOL}.get(name)
    if owner.kind == "RRef":
        return {"to_here": owner.args[0], "local_value": owner.args[0], "is_owner": BOOL, "owner_name": STR,
                "confirmed_by_owner": BOOL, "owner": ANY, "backward": NONE}.get(name)  # fmt: skip
    return None


def interface_call(builder: Any, node: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    """A method of a value whose type is an interface."""
    from .interface import by_name

    described = by_name(owner.type.kind)
    if described is None or name not in described.methods:
        raise builder.fail(node, f"'{owner.type.kind}' object has no attribute or method '{name}'.")
    method = described.methods[name]
    inputs = builder.bind(node, method.schema, args, kwargs)
    return builder.add(node, "prim::CallMethod", [owner, *inputs], method.returns, "callmethod", name=name)


__all__ = ["Tensor", "role_of"]
