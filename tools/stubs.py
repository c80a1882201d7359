"""Write type stubs for what type checkers cannot read from the source: python tools/stubs.py [--check]

Operators are attached to `Tensor` one by one, and many functions are created by other functions (`exp = unary("exp", ...)`). This
tool imports the package and writes the signatures that it finds to `.pyi` files next to the source. Results that depend on
arguments, and what signatures do not tell, are in `overloads.pyi` next to this file. `--check` writes nothing, and fails if a
file is out of date.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typing_extensions

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

_WRITTEN = Path(__file__).with_name("overloads.pyi")
TENSOR = "mpigrad._tensor"
MODULES = ("mpigrad", TENSOR, "mpigrad.return_types", "mpigrad.nn.functional", "mpigrad.special")
HEADER = '"""{title} Made by tools/stubs.py; do not edit."""\n\n'
# Types of parameters, by name, that the source does not annotate because it checks them itself.
PARAMETERS = {
    "other": "_Operand",
    "alpha": "complex",
    "beta": "complex",
    "dim": "int | Sequence[int]",
    "layout": "layout | None",
    "memory_format": "memory_format",
    "size": "SupportsIndex | Sequence[SupportsIndex]",
}
OPERAND = "Tensor | np.ndarray | np.generic | complex"
# Types of results that the source does not annotate; those of `mpigrad.return_types` are found by the function's name.
RESULTS = {
    "__complex__": "complex", "__float__": "float", "__int__": "int", "broadcast_shapes": "Size", "is_conj": "bool",
    "is_neg": "bool", "item": "int | float | bool", "log_softmax": "Tensor", "slogdet": "return_types.linalg_slogdet",
    "softmax": "Tensor", "split_copy": "tuple[Tensor, ...]", "unbind_copy": "tuple[Tensor, ...]",
    "unsafe_chunk": "tuple[Tensor, ...]", "unsafe_split": "tuple[Tensor, ...]", "unsafe_split_with_sizes": "tuple[Tensor, ...]",
    **dict.fromkeys(("conj_physical", "resolve_conj", "resolve_neg"), "Tensor"),
}  # fmt: skip
# Flags that change the type of the result.
FLAGS = {"as_tuple": "tuple[Tensor, ...]", "return_indices": "tuple[Tensor, Tensor]"}
COMPARISONS = {"__eq__", "__ne__"}  # methods that accept any argument, as those of `object`
UNARY = {"__neg__", "__pos__", "__invert__", "__abs__"}
OPERATORS = {"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"}
BINARY = {f"__{side}{name}__" for side in ("", "r", "i") for name in OPERATORS} | {"__lt__", "__le__", "__gt__", "__ge__"}
IN_PLACE = {f"__i{name}__" for name in OPERATORS}
NOT_METHODS = {"where"}  # only as functions in overloads.pyi
NOT_DECLARED = {"__dict__", "__weakref__", "__module__", "__annotations__", "__doc__", "__slots__", "__static_attributes__"}


class Stub:
    """One stub file: its lines and the imports that they need. A name that the file itself defines is imported under another
    name.
    """

    def __init__(self, module: types.ModuleType, taken: set[str], own: dict[str, str]) -> None:
        self.module, self.taken, self.own = module, taken, own
        self.imports: dict[str, set[tuple[str, str]]] = {}
        self.variables: dict[str, str] = {}
        self.lines: list[str] = []

    def name(self, module: str, name: str) -> str:
        """The name in this file for the object that another module calls `name`."""
        if module in (self.module.__name__, "builtins") and name not in self.taken or self.own.get(name) == module:
            return name
        shown = f"_{name}" if name in self.taken else name
        self.imports.setdefault(module, set()).add((name, shown))
        return shown

    def text(self, title: str) -> str:
        """The text of the file."""
        found = [f"from {module} import {_imported(names)}\n" for module, names in sorted(self.imports.items()) if names]
        variables = [f"{name}{text}\n" for name, text in sorted(self.variables.items())]
        return "".join((HEADER.format(title=title), *found, "\n", *variables, *self.lines))


def _imported(names: set[tuple[str, str]]) -> str:
    listed = [f"{name} as {shown.strip()}" if name != shown else name for name, shown in sorted(names)]
    joined = ", ".join(listed)
    return joined if len(joined) < 90 else "(\n" + "".join(f"    {each},\n" for each in listed) + ")"


class _Annotation(ast.NodeTransformer):
    """An annotation with its names replaced by those that a stub file has for the same objects."""

    def __init__(self, stub: Stub, scope: dict[str, Any], source: str) -> None:
        self.stub, self.scope, self.source = stub, scope, source

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._shown(self._find(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value: Any = node
        path: list[str] = []
        while isinstance(value, ast.Attribute):
            path.insert(0, value.attr)
            value = value.value
        found = self._find(value.id)
        for each in path:
            found = getattr(found, each)
        return self._shown(found)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) in ("Literal", "typing.Literal"):
            node.value = self._shown(typing.Literal)
            return node
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def _shown(self, found: Any) -> ast.expr:
        return ast.parse(shown(self.stub, found), mode="eval").body

    def _find(self, name: str) -> Any:
        if name in self.scope:
            return self.scope[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return _imported_for_checkers(self.source, name)


def _imported_for_checkers(module: str, name: str) -> Any:
    """The names that a module imports under `if TYPE_CHECKING:`."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                if (each.asname or each.name) == name:
                    package = importlib.import_module(module).__package__ if node.level else None
                    found = importlib.import_module("." * node.level + (node.module or ""), package)
                    return getattr(found, each.name)
    raise NameError(f"{name} in an annotation of {module}")


def _canonical(found: Any) -> tuple[str, str]:
    return found.__module__, found.__qualname__


def shown(stub: Stub, found: Any) -> str:
    """The text of a type, with the names of the stub file."""
    if found is None or found is types.NoneType:
        return "None"
    if found is Ellipsis:
        return "..."
    if isinstance(found, list):
        return f"[{', '.join(shown(stub, each) for each in found)}]"
    if isinstance(found, typing.TypeVar):
        bound = "" if found.__bound__ is None else f", bound={shown(stub, found.__bound__)}"
        stub.variables[found.__name__] = f' = {stub.name("typing", "TypeVar")}("{found.__name__}"{bound})'
        return found.__name__
    origin, args = typing.get_origin(found), typing.get_args(found)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(shown(stub, each) for each in args)
    if origin is not None:
        return f"{shown(stub, origin)}[{', '.join(shown(stub, each) for each in args)}]"
    if inspect.isclass(found):
        module, name = _canonical(found)
        if (module, name) == ("numpy", "ndarray"):
            return f"{stub.name('numpy', 'ndarray')}[{stub.name('typing', 'Any')}, {stub.name('typing', 'Any')}]"
        return stub.name(module, name)
    for name in ("Any", "Literal", "Self"):
        if found is getattr(typing_extensions, name):
            return stub.name("typing_extensions" if name == "Self" else "typing", name)
    raise TypeError(f"cannot show the type {found!r}")


def annotation(stub: Stub, given: Any, fn: Callable[..., Any] | type) -> str:
    """The text of an annotation of `fn`, for the stub."""
    if not isinstance(given, str):
        return shown(stub, given)
    inner = inspect.unwrap(fn) if callable(fn) else fn
    module = inner.__module__ if inspect.isclass(inner) else inner.__globals__["__name__"]
    tree = ast.parse(given, mode="eval")
    return ast.unparse(_Annotation(stub, vars(sys.modules[module]), module).visit(tree.body))


def table_annotation(stub: Stub, text: str) -> str:
    """A type from the tables above, with the names of the stub file."""
    if text == "_Operand":
        stub.variables[text] = f": {stub.name('typing', 'TypeAlias')} = {table_annotation(stub, OPERAND)}"
        return text
    return ast.unparse(_Annotation(stub, _SCOPE, "mpigrad").visit(ast.parse(text, mode="eval").body))


def signature(stub: Stub, fn: Callable[..., Any], name: str, method: bool) -> str:
    """`(parameters) -> result` of a function, as it is when called."""
    found = inspect.signature(fn)
    parts: list[str] = []
    starred = False
    for place, parameter in enumerate(found.parameters.values()):
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append("self" if method and not place else _parameter(stub, fn, name, parameter, place))
        if parameter.kind is parameter.POSITIONAL_ONLY and _last_positional_only(found, place):
            parts.append("/")
    return f"({', '.join(parts)}) -> {_result(stub, fn, name, found.return_annotation, method)}"


def _result(stub: Stub, fn: Callable[..., Any], name: str, given: Any, method: bool) -> str:
    if method and (name in IN_PLACE or not name.startswith("__") and name.endswith("_") and given == "Tensor"):
        return table_annotation(stub, "Self")
    if name in BINARY | UNARY | COMPARISONS:
        return table_annotation(stub, "Tensor")
    if given not in ("Any", inspect.Signature.empty):
        return annotation(stub, given, fn)
    if name in RESULTS or name.endswith("_copy"):
        return table_annotation(stub, RESULTS.get(name, "Tensor"))
    return table_annotation(stub, f"return_types.{name}" if hasattr(_SCOPE["return_types"], name) else "Any")


def _last_positional_only(found: inspect.Signature, place: int) -> bool:
    after = list(found.parameters.values())[place + 1 :]
    return not after or after[0].kind is not inspect.Parameter.POSITIONAL_ONLY


def _parameter(stub: Stub, fn: Callable[..., Any], name: str, parameter: inspect.Parameter, place: int) -> str:
    given = parameter.annotation
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if name in BINARY and place == 1:
        shown = table_annotation(stub, PARAMETERS["other"])
    elif given in ("Any", Any) and parameter.name in PARAMETERS and name not in COMPARISONS:
        shown = table_annotation(stub, PARAMETERS[parameter.name])
    else:
        shown = stub.name("typing", "Any") if given is parameter.empty else annotation(stub, given, fn)
    default = "" if parameter.default is parameter.empty else f" = {_default(parameter.default)}"
    if default == " = None" and not _takes_none(shown):
        shown += " | None"
    return f"{stars}{parameter.name}: {shown}{default}"


def _takes_none(shown: str) -> bool:
    return shown in ("Any", "_Any", "object") or "None" in [each.strip() for each in shown.split("|")]


def _default(value: Any) -> str:
    plain = value is None or value.__class__ in (bool, int, str) or value.__class__ is float and math.isfinite(value)
    return repr(value) if plain else "..."


def function(stub: Stub, fn: Callable[..., Any], name: str, indent: str = "") -> None:
    """Add a function, or a method if there is an indent, to the stub."""
    written = OVERLOADS.get(name)
    if written and not (indent and name in NOT_METHODS):
        for node in written:
            _written(stub, node, fn, indent)
        return
    first = "" if name.startswith("__") else _first_line(fn)
    doc = f"\n{indent}    {first}" if first else " ..."
    text = signature(stub, fn, name, bool(indent))
    variants = _variants(stub, text)
    for variant in variants:
        mark = f"{indent}@{stub.name('typing', 'overload')}\n" if len(variants) > 1 else ""
        ignored = "  # type: ignore[override]" if name in COMPARISONS else "  # type: ignore[misc]" if name in IN_PLACE else ""
        stub.lines.append(f"{mark}{indent}def {name}{variant}:{doc}{ignored}\n")


def _variants(stub: Stub, text: str) -> list[str]:
    """The signatures of a function with a flag that changes the type of its result: without the flag, with it, and with an
    unknown value.
    """
    for flag, kind in FLAGS.items():
        part = next((each for each in (f"{flag}: bool = False", f"{flag}: _bool = False") if each in text), None)
        if part is not None and text.endswith("Any"):
            literal, start = stub.name("typing", "Literal"), text.removesuffix(text.split("-> ")[-1])
            star = "" if "*, " in text.split(part)[0] else "*, "
            given = start.replace(part, f"{star}{flag}: {literal}[True]")
            return [
                start.replace(part, f"{flag}: {literal}[False] = False") + table_annotation(stub, "Tensor"),
                given + table_annotation(stub, kind),
                text,
            ]
    return [text]


def _first_line(fn: Any) -> str:
    doc = (inspect.getdoc(fn) or "").strip().split("\n\n")[0].replace("\n", " ")
    return f'"""{doc}"""' if doc and "\\" not in doc and not doc.startswith('"') and not doc.endswith('"') else ""


def _written(stub: Stub, node: ast.FunctionDef, fn: Callable[..., Any], indent: str) -> None:
    """A definition from overloads.pyi, with the names of the stub file."""
    node = ast.parse(ast.unparse(node)).body[0]  # type: ignore[assignment]
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    rename = _Annotation(stub, _SCOPE, "mpigrad").visit
    for argument in filter(None, arguments):
        if argument.annotation is not None:
            argument.annotation = rename(argument.annotation)
    if indent and node.args.args and node.args.args[0].arg != "cls":
        node.args.args[0] = ast.arg("self")
    node.returns = rename(node.returns)
    node.decorator_list = [ast.Name(stub.name("typing", each.id)) for each in node.decorator_list]  # type: ignore[attr-defined]
    stub.lines += [indent + line + "\n" for line in ast.unparse(node).replace(":\n    ...", ": ...").split("\n")]


def _read_overloads() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for node in ast.parse(_WRITTEN.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.setdefault(node.name, []).append(node)
    return found


def _scope() -> dict[str, Any]:
    """The objects for the names in the tables above and in overloads.pyi."""
    mpigrad = importlib.import_module("mpigrad")
    names = ("Size", "Tensor", "layout", "memory_format", "dtype", "device")
    found: dict[str, Any] = {"np": importlib.import_module("numpy")}
    found["return_types"] = importlib.import_module("mpigrad.return_types")
    generic = vars(importlib.import_module("collections.abc"))
    found |= {"_Subclass": typing.TypeVar("_Subclass"), **{name: getattr(mpigrad, name) for name in names}}
    return {**vars(typing), **generic, **found, "Self": typing_extensions.Self}


OVERLOADS = _read_overloads()
_SCOPE = _scope()


def tensor_stub() -> str:
    """`_tensor.pyi`: the class with all methods that are attached to it."""
    module: Any = importlib.import_module(TENSOR)
    for name in list(vars(module.Tensor)):
        getattr(module.Tensor, name)  # imports the module of the method
    stub = Stub(module, set(vars(module.Tensor)), {})
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != TENSOR:
            continue
        if name == "_LateMethod":  # only the class's methods need it
            continue
        if name == "Tensor":
            tensor_class(stub, value)
        elif inspect.isclass(value):
            stub.lines += ["\n", ast.get_source_segment(_WRITTEN.read_text(), OVERLOADS[name][0]) or "", "\n"]
        elif inspect.isfunction(value):
            function(stub, value, name)
    for where, each in (("typing", "SupportsIndex"), ("typing", "overload"), ("collections.abc", "Iterable")):
        stub.name(where, each)  # for the classes that are copied
    return stub.text("Tensors, with the operators that other modules attach to them.")


def tensor_class(stub: Stub, cls: type) -> None:
    """The class statement: the fields that the class declares, its methods and properties."""
    bases = ", ".join(shown(stub, base) for base in cls.__bases__)
    stub.lines.append(f'\nclass {cls.__name__}({bases}):\n    """{cls.__doc__}"""\n\n')
    for name, given in vars(cls).get("__annotations__", {}).items():
        stub.lines.append(f"    {name}: {annotation(stub, given, cls)}\n")
    members(stub, cls)
    stub.lines.append("\n")


def members(stub: Stub, cls: type) -> None:
    """The methods and properties of a class, in the order of their names."""
    declared = {*vars(cls).get("__annotations__", ()), *NOT_DECLARED}
    for name, value in sorted(vars(cls).items()):
        if name in declared or isinstance(value, types.MemberDescriptorType):
            continue
        if isinstance(value, property):
            _property(stub, name, value)
        elif name == "__hash__":
            stub.lines.append(f"    def __hash__(self) -> {stub.name('builtins', 'int')}: ...\n")
        elif isinstance(value, staticmethod):
            function(stub, value.__func__, name, "    ")
        elif callable(value):
            function(stub, value, name, "    ")
        else:
            stub.lines.append(f"    {name}: {shown(stub, type(value))}\n")


def _property(stub: Stub, name: str, value: property) -> None:
    fget: Any = value.fget
    given = inspect.signature(fget).return_annotation
    kind = stub.name("builtins", "bool") if given is inspect.Signature.empty else annotation(stub, given, fget)
    stub.lines.append(f"    @{stub.name('builtins', 'property')}\n    def {name}(self) -> {kind}: ...\n")
    if value.fset is not None:
        stub.lines.append(f"    @{name}.setter\n    def {name}(self, value: {kind}) -> None: ...\n")
    if value.fdel is not None:
        stub.lines.append(f"    @{name}.deleter\n    def {name}(self) -> None: ...\n")


def results_stub() -> str:
    """`return_types.pyi`: the named tuples."""
    module: Any = _SCOPE["return_types"]
    kinds = {key: value for key, value in vars(module).items() if hasattr(value, "_fields")}
    stub = Stub(module, set(kinds), {})
    for key, value in sorted(kinds.items()):
        stub.lines.append(f'\nclass {key}({stub.name("typing", "NamedTuple")}):\n    """{value.__doc__}"""\n\n')
        stub.lines += [f"    {field}: {stub.name(TENSOR, 'Tensor')}\n" for field in value._fields]
    stub.lines.append(f"\n__all__ = {sorted(module.__all__)!r}\n")
    return stub.text("Results with named parts.")


def module_stub(name: str) -> str:
    """A module of functions: their signatures, and where its classes and submodules come from."""
    module = importlib.import_module(name)
    values = {key: getattr(module, key) for key in dir(module) if not key.startswith("_") or key in ("__dir__", "__version__")}
    values = {key: value for key, value in values.items() if _exported(module, key, value)}
    classes = {key: _home(module, key) for key, value in values.items() if inspect.isclass(value)}
    stub = Stub(module, set(values), {key: where for key, where in classes.items() if where})
    for key, value in values.items():
        if isinstance(value, types.ModuleType):
            stub.imports.setdefault(name, set()).add((key, f"{key} "))
        elif key in classes and classes[key]:
            stub.imports.setdefault(classes[key], set()).add((value.__name__, f"{key} "))
        elif key in classes:
            stub.lines.append(f"{key}: {table_annotation(stub, 'type[Tensor]')}\n")
        elif inspect.isfunction(value):
            function(stub, value, key)
        else:
            kind = next(each for each in type(value).__mro__ if not each.__name__.startswith("_"))
            stub.lines.append(f"{key}: {shown(stub, kind)}\n")
    if hasattr(module, "__all__"):
        stub.lines.append(f"\n__all__ = {sorted(module.__all__)!r}\n")
    return stub.text((module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " "))


def _exported(module: types.ModuleType, key: str, value: Any) -> bool:
    """Whether a name belongs to the module, and is not merely imported from the standard library."""
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{module.__name__}.{key}" and key in {*getattr(module, "_LAZY", ()), "autograd", "return_types"}
    listed = getattr(module, "__all__", None)
    if listed is not None and key not in listed and key[0] != "_" or key in ("annotations", "Any"):
        return False
    made = value.__module__ if inspect.isclass(value) or inspect.isfunction(value) else type(value).__module__
    return made.startswith("mpigrad") or type(value) in (float, str, type(None))


def _home(module: types.ModuleType, key: str) -> str:
    """The module that defines a class; None for LongTensor and similar types, which are not class statements."""
    value = vars(module).get(key, getattr(module, key))
    if not value.__bases__ or type(value).__name__ == "_Typed":
        return ""
    if value.__module__ != module.__name__:
        return value.__module__
    return next(name for name in sorted(sys.modules) if name != module.__name__ and name.startswith("mpigrad.")
                and getattr(sys.modules[name], "__dict__", {}).get(key) is value)  # fmt: skip


def stubs() -> dict[Path, str]:
    """All stub files with their texts."""
    special = {TENSOR: tensor_stub, "mpigrad.return_types": results_stub}
    found: dict[Path, str] = {}
    for name in MODULES:
        text = special[name]() if name in special else module_stub(name)
        found[Path(importlib.import_module(name).__file__ or "").with_suffix(".pyi")] = text
    return found


def main() -> int:
    stale = [(path, text) for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is out of date: run python tools/stubs.py")
        else:
            path.write_text(text)
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
