"""Name resolution: the Python objects for names in a function's source, and the types for annotations."""

from __future__ import annotations

import ast
import builtins
import inspect
import typing
from types import ModuleType
from typing import Any

from .._ir.types import TENSOR, Type, from_annotation
from .builder import PythonObject

_MISSING = object()


class Scope:
    """The visible names of a function: its closure, its module, Python's built-ins."""

    def __init__(self, function: Any, extra: dict[str, Any] | None = None, own: type | None = None) -> None:
        """`extra` are additional names for annotations; `own` is the class that is being compiled and has no name yet."""
        self.function, self.own = function, own
        self.globals = getattr(function, "__globals__", {})
        self.extra = extra or {}
        closure, names = getattr(function, "__closure__", None) or (), function.__code__.co_freevars
        self.closure = dict(zip(names, closure))

    def lookup(self, name: str) -> Any:
        """The Python object for a name, or _MISSING."""
        if self.own is not None and name == self.own.__name__:
            return self.own
        if name in self.closure:
            try:
                return self.closure[name].cell_contents
            except ValueError:
                return _MISSING
        return self.globals.get(name, getattr(builtins, name, _MISSING))

    def find(self, name: str) -> PythonObject | None:
        """The Python object for a name, or None."""
        found = self.lookup(name)
        return None if found is _MISSING else PythonObject(found, name)

    def attribute(self, builder: Any, node: ast.Attribute, owner: PythonObject) -> PythonObject:
        """An attribute of a module (or of a class, such as the members of typing)."""
        if not isinstance(owner.obj, (ModuleType, type)):
            raise builder.fail(
                node, f"attribute lookup is not defined on python value of type '{type(owner.obj).__name__}'"
            )
        found = getattr(owner.obj, node.attr, _MISSING)
        if found is _MISSING:
            raise builder.fail(node, f"module '{owner.name}' has no attribute {node.attr}")
        return PythonObject(found, f"{owner.name}.{node.attr}")

    def subscript(self, builder: Any, node: ast.Subscript, owner: PythonObject) -> Any:
        """Types such as `List[int]`; Python containers are not values of a graph."""
        if (
            typing.get_origin(owner.obj) is None
            and not isinstance(owner.obj, type)
            and owner.obj is not typing.Optional
        ):
            raise builder.fail(node, f"python value of type '{type(owner.obj).__name__}' cannot be used as a value")
        return PythonObject(self._evaluate(ast.unparse(node)), ast.unparse(node))

    # -- annotations -------------------------------------------------------------------------------------------------
    def _evaluate(self, text: str) -> Any:
        return eval(text, {}, _Namespace(self))

    def annotation(self, builder: Any, node: ast.expr) -> Type:
        """The type for an annotation inside the function."""
        try:
            given = self._evaluate(
                node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
            )
            return from_annotation(given)
        except (TypeError, NameError, AttributeError) as error:
            raise builder.fail(node, str(error)) from None

    def kind_of(self, builder: Any, node: ast.AST, given: Any) -> Type:
        """The scripted type for a Python class."""
        try:
            return from_annotation(given)
        except (TypeError, NameError) as error:
            raise builder.fail(node, str(error)) from None

    def class_annotation(self, builder: Any, node: ast.AST, cls: type, name: str) -> Type | None:
        """The type that a class declares for an attribute, or None."""
        given = vars(cls).get("__annotations__", {}).get(name)
        if given is None:
            return None
        try:
            return self.of_argument(given)
        except (TypeError, NameError, AttributeError) as error:
            raise builder.fail(node, str(error)) from None

    def of_argument(self, given: Any) -> Type:
        """The type of an annotation in `__annotations__`, which may be its text."""
        return from_annotation(self._evaluate(given) if isinstance(given, str) else given)

    def return_type(self, function: Any) -> Type:
        """The annotated return type of an ignored function; Tensor by default."""
        given = inspect.get_annotations(function).get("return", inspect.Parameter.empty)
        if given is inspect.Parameter.empty:
            return TENSOR
        return Scope(inspect.unwrap(function)).of_argument(given)


class _Namespace(dict):  # type: ignore[type-arg]
    """The namespace in which annotations are evaluated."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    def __missing__(self, name: str) -> Any:
        found = self._scope.lookup(name)
        if found is _MISSING:
            found = self._scope.extra.get(name, _MISSING)
        if found is _MISSING:
            raise KeyError(name)
        return found
