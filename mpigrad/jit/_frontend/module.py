"""Scripted modules: the results of `jit.script(module)`, and `ScriptModule` classes with `script_method`."""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from types import MethodType
from typing import Any

from mpigrad.nn.modules.container import ModuleList, Sequential
from mpigrad.nn.modules.module import Module

from .._ir.convert import NO, convert
from .._ir.errors import Error
from .._ir.types import Type, interfaces, qualified
from .._lower.module_members import ModuleMembers, is_library
from .._lower.scope import Scope
from .compile_function import compile_function
from .function import ScriptFunction


def class_values(cls: type) -> dict[str, Any]:
    """The class attributes that a user's module class and its bases define."""
    own = [each for each in reversed(cls.__mro__) if not f"{each.__module__}.".startswith(("mpigrad.", "builtins."))]
    every = {name: each for each in own for name, each in vars(each).items() if not name.startswith("__")}
    return {name: each for name, each in every.items() if not callable(each) and not hasattr(type(each), "__get__")}


class _CompilesAfterInit(type):
    """Compiles the scripted methods of a ScriptModule after its `__init__`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        made._finish_script()
        return made


class ScriptModule(Module, metaclass=_CompilesAfterInit):
    """A module whose methods marked with `script_method` are compiled when it is created.

    >>> import mpigrad
    >>> class Twice(mpigrad.jit.ScriptModule):
    ...     @mpigrad.jit.script_method
    ...     def forward(self, x):
    ...         return x + x
    >>> Twice()(mpigrad.ones(2)).tolist()
    [2.0, 2.0]
    """

    _is_script_module = True

    def _finish_script(self) -> None:
        self._begin(self)
        for name in dir(type(self)):
            if _mark(type(self), name) == "script_method":
                self._compiled_method(name)

    def _begin(self, original: Any) -> None:
        self.__dict__["_script_methods"] = {}
        self.__dict__["_original"] = original
        self.__dict__["_script_type"] = qualified(type(original))
        self.__dict__["_description"] = ModuleMembers(self, original)
        for name, child in list(self._modules.items()):
            self._modules[name] = scripted_child(child)

    def _compiled_method(self, name: str) -> ScriptFunction:
        """The compiled form of a method; compiled when first asked for."""
        found = self._script_methods.get(name)
        if found is None:
            if name in self.__dict__.setdefault("_compiling", set()):
                raise RuntimeError(f"method '{name}' is called recursively: recursive calls aren't supported\n")
            self._compiling.add(name)
            try:
                function = inspect.unwrap(getattr(type(self._original), name))
                found = compile_function(function, Scope(function), self._description)
            finally:
                self._compiling.discard(name)
            self._add_method(name, found)
        return found

    def _add_method(self, name: str, function: ScriptFunction) -> None:
        self._script_methods[name] = function
        self.__dict__[name] = MethodType(function.entry, self)

    def _script_method(self, name: str) -> Any:
        """A scripted method, for calls from graphs; graphs can call nothing else of a module."""
        return MethodType(self._script_methods[name].inner(), self)

    def _check_interface(self, hint: Any) -> None:
        """Raise an error if a type is not an interface or this module does not implement it."""
        name = qualified(hint)
        if name in interfaces and convert(Type(name), self) is not NO:
            return
        methods = [f"  (1) {self._script_methods[each].schema}\n  (2) {schema}\n"
                   for each, schema in interfaces.get(name, {}).items() if each in self._script_methods]  # fmt: skip
        raise RuntimeError(
            f"{self._script_type} is not a subtype of the type hint: {name}, did you pass a valid interface type?\n"
            + "".join(methods)
        )

    def __reduce_ex__(self, protocol: Any) -> Any:
        if "module_rref" in self.__dict__:
            raise Error("Cannot pickle RemoteModule in python pickler. RemoteModule can only be pickled when using RPC")
        raise RuntimeError(
            f"Tried to serialize object {self._script_type} which does not have a __getstate__ method defined! Scripted modules "
            "are saved with mpigrad.jit.save"
        )

    def _reduce_in_rpc(self) -> Any:
        """How the pickler of RPC encodes this module."""
        from .._files.load import reduce_in_rpc

        return reduce_in_rpc(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = memo[id(self)] = type(self).__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    @property
    def graph(self) -> Any:
        """The graph of the method `forward`."""
        return self._script_methods["forward"].graph

    @property
    def code(self) -> str:
        """The method `forward` as Python text."""
        return self._script_methods["forward"].code

    @property
    def original_name(self) -> str:
        """The name of the class that was scripted."""
        return self._script_type.rpartition(".")[2]

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write the module to the file `f`; see `mpigrad.jit.save`."""
        from .._files.save import save  # imported late: `_files` imports this module

        save(self, f)


class RecursiveScriptModule(ScriptModule):
    """The result of `jit.script(module)`: a module with compiled methods that shares the parameters and buffers of
    `module`.
    """

    def __init__(self, original: Any) -> None:
        super().__init__()
        self.__dict__["_parameters"] = original._parameters
        self.__dict__["_buffers"] = original._buffers
        self._modules.update(original._modules)
        for name, value in {**class_values(type(original)), **original.__dict__}.items():
            if name not in self.__dict__:
                self.__dict__[name] = value
        self.__dict__["training"] = original.training
        self.__dict__["_original_module"] = original

    def _finish_script(self) -> None:
        original = self._original_module
        self._begin(original)
        wanted = [name for name in dir(type(original)) if _mark(type(original), name) == "export"]
        if type(original).forward is not Module.forward and _mark(type(original), "forward") not in ("ignore", "unused"):
            wanted.insert(0, "forward")
        for name in wanted:
            self._compiled_method(name)

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"


def _mark(cls: type, name: str) -> Any:
    return getattr(inspect.getattr_static(cls, name, None), "_jit_mark", None)


def scripted_child(child: Any) -> Any:
    """A submodule for scripted code: library modules unchanged, users' modules scripted."""
    if child is None or isinstance(child, ScriptModule) or is_library(child):
        return child
    if type(child) in (ModuleList, Sequential):
        members = OrderedDict((name, scripted_child(each)) for name, each in child._modules.items())
        made = type(child)()
        made._modules.update(members)
        made.training = child.training
        return made
    return RecursiveScriptModule(child)
