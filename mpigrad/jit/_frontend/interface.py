"""Interfaces: classes that say which methods a module must have; modules that have them can stand in for each other."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from .._ir.schema import Argument, Schema
from .._ir.types import NONE, TENSOR, Type, interfaces, qualified
from .names import Names


class Declared(NamedTuple):
    """A method of an interface."""

    schema: Schema
    returns: Type


class Interface(NamedTuple):
    """The methods of an interface, by name."""

    name: str
    methods: dict[str, Declared]


_by_name: dict[str, Interface] = {}


def interface(obj: type) -> type:
    """Declare an interface: its methods' annotations count, their bodies do not.

    >>> import mpigrad
    >>> @mpigrad.jit.interface
    ... class OneToOne:
    ...     def forward(self, x: mpigrad.Tensor) -> mpigrad.Tensor:
    ...         pass
    """
    if not inspect.isclass(obj):
        raise RuntimeError(f"interface must be applied to a class, got {obj!r}")
    methods = {}
    for name, function in vars(obj).items():
        if inspect.isfunction(function):
            methods[name] = _declared(name, function)
    made = Interface(qualified(obj), methods)
    interfaces[obj] = _by_name[made.name] = made
    return obj


def _declared(name: str, function: Any) -> Declared:
    names, hints = Names(function), function.__annotations__
    arguments = [
        Argument(each, names.of_argument(hints[each]) if each in hints else TENSOR, each not in hints)
        for each in list(inspect.signature(function).parameters)[1:]
    ]
    returns = names.of_argument(hints["return"]) if "return" in hints else NONE
    return Declared(Schema(name, tuple(arguments), returns), returns)


def by_name(name: str) -> Interface | None:
    """The interface that graphs call by a name."""
    return _by_name.get(name)


def implements(name: str, value: Any) -> bool:
    """Whether a scripted module has all methods of an interface with its types."""
    wanted = _by_name.get(name)
    if wanted is None:
        return getattr(value, "_script_type", None) == name
    methods = getattr(value, "_script_methods", {})
    return all(
        method in methods
        and [each.type for each in methods[method].schema.arguments]
        == [each.type for each in declared.schema.arguments]
        and methods[method].returns == declared.returns
        for method, declared in wanted.methods.items()
    )
