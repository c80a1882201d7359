"""Script classes (`jit.script(cls)`): scripts create instances, read and set attributes, and call methods.

The class and its instances are not changed: Python runs the original methods, graphs run the compiled ones. Attributes are
those that `__init__` sets, with the types of the values that it assigns.
"""

from __future__ import annotations

import enum
import inspect
from typing import Any

from mpigrad.nn.modules.module import Module

from .._ir.types import Type, qualified, script_class_names, script_classes
from .._lower.scope import Scope
from .compile_function import compile_function
from .function import ScriptFunction


class ScriptClass:
    """The compiled methods of one class, and the types of its attributes."""

    def __init__(self, cls: type, names: dict[str, Any]) -> None:
        self.cls, self.type_name, self.names = cls, _new_name(cls), names
        self.attributes: dict[str, Type] = {}
        self.methods: dict[str, ScriptFunction | None] = {}  # None while a method is compiled
        self.defining = True  # `__init__` is being compiled: its assignments declare attributes

    def knows(self, builder: Any, value: Any) -> bool:
        """Whether a value of the graph is a module: always False for script classes (see `ModuleMembers.knows`)."""
        return False

    def static(self, name: str) -> Any:
        """The unbound member of the class with this name."""
        return inspect.getattr_static(self.cls, name, None)

    def method(self, name: str) -> ScriptFunction | None:
        """The compiled form of a method or property, compiled when first asked for; None if the class has no such member."""
        found = self.static(name)
        function = found.fget if isinstance(found, property) else found
        if not inspect.isfunction(function):
            return None
        if name not in self.methods:
            self.methods[name] = None
            try:
                self.methods[name] = compile_function(function, Scope(function, self.names, self.cls), self)
            except BaseException:
                del self.methods[name]
                raise
        if self.methods[name] is None:
            raise RuntimeError(f"method '{name}' is called recursively: recursive calls aren't supported\n")
        return self.methods[name]

    def compile(self) -> None:
        """Compile all methods, `__init__` first."""
        self.method("__init__")
        self.defining = False
        self._compile_others()
        self.names = {}  # released, because they belong to a frame

    def _compile_others(self) -> None:
        for name, each in vars(self.cls).items():
            if inspect.isfunction(each) or isinstance(each, property):
                if getattr(each, "_jit_mark", None) not in ("ignore", "unused"):
                    self.method(name)


def script_class(cls: type, names: dict[str, Any]) -> type:
    """Register a class for scripted code; its annotations may use `names` in addition to those of its module."""
    if issubclass(cls, Module):
        raise RuntimeError(
            f"Type '{cls}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    if issubclass(cls, enum.Enum):
        return cls
    if len(inspect.getmro(cls)) > 2:
        raise RuntimeError(
            "TorchScript classes does not support inheritance yet. Please directly inherit from 'object'."
        )
    if cls in script_class_names:
        return cls
    record = ScriptClass(cls, names)
    script_classes[record.type_name], script_class_names[cls] = record, record.type_name
    try:
        record.compile()
    except BaseException:
        del script_classes[record.type_name], script_class_names[cls]
        raise
    return cls


def _new_name(cls: type) -> str:
    """A unique name of a class in graphs."""
    name, count = qualified(cls), 0
    while name in script_classes:
        name, count = f"{qualified(cls)}___mangle_{count}", count + 1
    return name
